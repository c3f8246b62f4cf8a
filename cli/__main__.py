"""``python -m cli`` is ``diag``. Nothing is loaded before Ctrl-C is listened to: what the commands need takes 0.2 s."""

from cli.shell.early import listen


def main() -> None:
    listen()
    from cli.main import main as diag

    diag()


if __name__ == "__main__":
    main()
