"""Options of the commands that ask a Kubernetes cluster through kubectl, each written once."""

from __future__ import annotations

from typing import Annotated

import typer

KubeNamespace = Annotated[
    str | None,
    typer.Option(
        "--kube",
        metavar="NAMESPACE",
        help="Ask kubectl for this namespace: pods, events, jobs, logs. Prints the commands; runs them only with --yes.",
    ),
]
KubeObject = Annotated[
    str | None,
    typer.Option("--kube-object", metavar="KIND/NAME", help="Only this object and its pods, as deployment/orders; see also kubectl diag."),
]
KubeContext = Annotated[
    str | None, typer.Option("--kube-context", metavar="NAME", help="The context of kubectl's configuration. Default: the current one.")
]
KubeSince = Annotated[str, typer.Option("--kube-since", metavar="TIME", help="How far back logs of pods are read: 30m, 6h.")]
Yes = Annotated[bool, typer.Option("--yes", help="Run the commands that --kube or --kube-object would only print.")]
