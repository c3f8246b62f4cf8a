"""The process and its machine: memory, garbage collection, container limits, disk, file handles, threads."""

from __future__ import annotations

from analyzers.logs.signatures.origin import failed_task, flink, in_flink, spark
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
    Signature(
        id="out-of-memory",
        ref="G32",
        says="A JVM ran out of memory, and of which kind.",
        literals=("java.lang.OutOfMemoryError",),
        pattern=r"java\.lang\.OutOfMemoryError(?:: (?P<area>Java heap space|GC overhead limit exceeded|Metaspace|Compressed class space|"
        r"Direct buffer memory|[Uu]nable to create (?:new )?native thread|Requested array size exceeds VM limit|[^\n]{1,120}))?",
        where="line",
        sample=failed_task(
            "java.lang.OutOfMemoryError: Metaspace. The metaspace out-of-memory error has occurred. This can mean two things: either"
            " the job requires a larger size of JVM metaspace to load classes or there is a class loading leak."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="out-of-memory-exit",
        says="The JVM ends itself on the first OutOfMemoryError.",
        literals=("Terminating due to java.lang.OutOfMemoryError", "Aborting due to java.lang.OutOfMemoryError"),
        pattern=r"due to java\.lang\.OutOfMemoryError(?:: (?P<area>[^\n]*))?",
        where="line",
        sample="Terminating due to java.lang.OutOfMemoryError: Java heap space",
    ),
    Signature(
        id="program-failed",
        says="A program's main thread ended in an exception that nobody caught (the trace).",
        literals=(", in <module>", ", in _run_module_as_main", 'Exception in thread "main" '),
        pattern=r"(?m:^)(?:Traceback \(most recent call last\):\n\s+File \"(?P<program>[^\"\n]+)\", line \d+, in"
        r" (?:<module>|_run_module_as_main)"
        r"|Exception in thread \"main\" )",
        where="event",
        sample=spark(
            "CommitLog",
            "BatchIds found from listing: 0, 1\nTraceback (most recent call last):\n"
            '  File "/opt/job/orders.py", line 92, in <module>\n    main()\n  File "/opt/job/orders.py", line 82, in main\n    .start()\n'
            "pyspark.errors.exceptions.captured.AnalysisException: [STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION] Invalid streaming"
            " output mode: append.",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="container-memory-exceeded",
        ref="G31",
        says="A container was killed for using more memory than it may.",
        literals=(
            "beyond physical memory limits",
            "beyond virtual memory limits",
            "beyond the 'PHYSICAL' memory limit",
            "exceeding physical memory limits",
            "exceeding memory limits",
            "OOMKilled",
            "Memory cgroup out of memory",
        ),
        pattern=r"beyond (?:the ')?(?P<kind>physical|virtual|PHYSICAL|VIRTUAL)|exceeding (?:physical )?memory limits|"
        r"(?P<reason>OOMKilled)|cgroup out of memory",
        where="line",
        sample=flink(
            "runtime.resourcemanager.active.ActiveResourceManager",
            "Worker container_e08_1700000000000_0012_01_000003 is terminated. Diagnostics: Container"
            " [pid=8121,containerID=container_e08_3] is running"
            " beyond physical memory limits. Current usage: 4.1 GB of 4 GB physical memory used; 6.0 GB of 8.4 GB virtual memory used."
            " Killing"
            " container.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="container-exit-code",
        ref="G31",
        says="A container ended with this exit code: 137 = killed (memory limit, kubelet), 143 = asked to stop.",
        literals=("Exit code is ", "exit code 137", "exit code 143", "Exit code: 1", "exitCode=1", "exit code: 1", "Exited (1"),
        pattern=r"(?:[Ee]xit [Cc]ode(?: is|:)? ?|exitCode=|Exited \()(?P<exit_code>13\d|14\d|1)\b",
        where="line",
        sample="Container killed on request. Exit code is 143",
        keep=(200, 50),
    ),
    Signature(
        id="pod-evicted",
        says="Kubernetes took a pod away: node pressure, preemption, drain.",
        literals=(
            "The node was low on resource",
            "reason=Evicted",
            "reason: Evicted",
            " Evicted ",
            "TaintManagerEviction",
            "Preempted by ",
            "taint manager",
        ),
        pattern=r"low on resource: (?P<resource_kind>[\w-]+)|reason[=:] Evicted|reason=Evicted|"
        r"(?:Warning|Normal) +Evicted\b(?: +pod/(?P<resource>[\w.-]{1,253}))?|"
        r"TaintManagerEviction|deletion by taint manager|Preempted by (?:a )?pod",
        where="line",
        sample=flink(
            "runtime.resourcemanager.active.ActiveResourceManager",
            "Worker orders-taskmanager-1-3 is terminated. Diagnostics: Pod terminated, container termination statuses: [], pod status:"
            " Failed(reason=Evicted, message=The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi.)",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="disk-full",
        says="A file system is full.",
        literals=("No space left on device", "There is not enough space on the disk", "Disk quota exceeded"),
        where="line",
        sample=failed_task("Caused by: java.io.IOException: No space left on device"),
        keep=(200, 50),
    ),
    Signature(
        id="too-many-open-files",
        says="The process has no file handles left.",
        literals=("Too many open files",),
        where="line",
        sample=failed_task("Caused by: java.io.FileNotFoundException: /data/tmp/rocksdb/000042.sst (Too many open files)"),
        keep=(20, 5),
    ),
    Signature(
        id="native-thread-limit",
        says="The process may start no more threads.",
        literals=("unable to create native thread", "unable to create new native thread"),
        where="line",
        sample=failed_task(
            "Caused by: java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits"
            " reached"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="gc-pause",
        says="A stop of the whole JVM for garbage collection (unified logging, JDK 9+).",
        literals=(") Pause Young", ") Pause Full", ") Pause Remark"),
        pattern=r"GC\((?P<gc_number>\d+)\) Pause (?P<pause>[^\n]*?) (?P<before>\d+[KMG])->(?P<after>\d+[KMG])\((?P<total>\d+[KMG])\)"
        r" (?P<pause_ms>\d+(?:[.,]\d+)?)ms",
        where="line",
        sample="[2024-12-03T02:18:06.996+0000][61.204s][info][gc] GC(41) Pause Full (Allocation Failure) 1017M->1011M(1024M) 2841.221ms",
        keep=(50, 50),
    ),
    Signature(
        id="gc-pause-jdk8",
        says="A stop of the whole JVM for garbage collection (JDK 8 log).",
        literals=("[GC (Allocation", "[GC (Metadata", "[GC (System", "[GC (GCLocker", "[Full GC (", "[GC pause ("),
        pattern=r"\[(?P<pause>(?:Full )?GC(?: pause)?(?:"
        r" \([^)]*\))*)[^\n]{0,300}?(?P<before>\d+[KMG])->(?P<after>\d+[KMG])\((?P<total>\d+[KMG])\)"
        r"[^\n]{0,300}?(?P<pause_seconds>\d+\.\d+) secs\]",
        where="line",
        sample="2024-12-03T02:18:06.996+0000: 61.204: [Full GC (Ergonomics) [PSYoungGen: 305152K->301122K(305664K)] [ParOldGen:"
        " 699392K->699210K(699392K)] 1004544K->1000332K(1005056K), [Metaspace: 61234K->61234K(1105920K)], 2.8412210 secs]",
        keep=(50, 50),
    ),
    Signature(
        id="safepoint-stop",
        says="The JVM stood still at a safepoint.",
        literals=("Total time for which application threads were stopped", "Reaching safepoint:"),
        pattern=r"threads were stopped: (?P<stopped_seconds>\d+[.,]\d+) seconds|Safepoint \"(?P<operation>[^\"]+)\"[^\n]*Total:"
        r" +(?P<stopped_ns>\d+) ns",
        where="line",
        sample='[2024-12-03T02:18:06.996+0000][info][safepoint] Safepoint "G1CollectFull", Time since last: 1204000112 ns, Reaching'
        " safepoint:"
        " 301122 ns, At safepoint: 2841221000 ns, Total: 2841522122 ns",
        keep=(20, 20),
    ),
    Signature(
        id="thread-starved",
        says="A watchdog found that the process itself stood still (garbage collection, a frozen or overloaded machine).",
        literals=("Thread starvation or clock leap detected", "Detected pause in JVM or host machine"),
        pattern=r"(?:\(housekeeper delta=(?P<delta>[\w.]+)\)|approximately (?P<duration_ms>\d+)ms|clock leap)",
        where="line",
        sample=in_flink(
            "org.apache.hadoop.util.JvmPauseMonitor",
            "Detected pause in JVM or host machine (eg GC): pause of approximately 21042ms",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="jvm-crash",
        says="The JVM itself crashed (native code).",
        literals=("A fatal error has been detected by the Java Runtime Environment", "SIGSEGV (0x", "SIGBUS (0x"),
        pattern=r"(?P<signal>SIG\w+) \(0x|fatal error has been detected",
        where="line",
        sample="# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f3a1c2b4d6e,"
        " pid=8121, tid=8200",
    ),
    Signature(
        id="stack-overflow",
        says="User code or a deep structure overflowed the stack.",
        literals=("java.lang.StackOverflowError",),
        where="line",
        sample=spark("Executor", "Exception in task 1.0 in stage 7.0 (TID 29)\njava.lang.StackOverflowError", "ERROR"),
    ),
    Signature(
        id="class-missing",
        says="A class or method of the job is missing or of another version than compiled against.",
        literals=("java.lang.NoClassDefFoundError", "java.lang.NoSuchMethodError", "java.lang.ClassNotFoundException"),
        pattern=r"java\.lang\.(?P<error>NoClassDefFoundError|NoSuchMethodError|ClassNotFoundException): (?P<what>[^\n]*)",
        where="line",
        sample=failed_task("Caused by: java.lang.NoClassDefFoundError: org/apache/kafka/common/serialization/ByteArrayDeserializer"),
        keep=(20, 5),
    ),
)
