// Flink's own reader of checkpoint metadata, as bare as it can be called: what benchmarks/checkpoints.py measures beside diag.
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;

public class LoadMetadata {
    public static void main(String[] paths) throws Exception {
        long operators = 0, bytes = 0, files = 0;
        for (String path : paths) {
            List<Path> found;
            try (Stream<Path> walk = Files.walk(Path.of(path))) {
                found = walk.filter(p -> p.endsWith("_metadata")).collect(Collectors.toList());
            }
            for (Path file : found) {
                try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), 1 << 16))) {
                    CheckpointMetadata metadata =
                            Checkpoints.loadCheckpointMetadata(in, LoadMetadata.class.getClassLoader(), file.getParent().toString());
                    for (OperatorState state : metadata.getOperatorStates()) {
                        operators++;
                        bytes += state.getStateSize();
                    }
                    files++;
                }
            }
        }
        System.out.println(files + " files, " + operators + " operators, " + bytes + " bytes of state");
    }
}
