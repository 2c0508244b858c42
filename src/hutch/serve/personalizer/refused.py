"""Calls of Personalizer that have no counterpart, and what does their work here."""

REFUSED: dict[str, tuple[str, str]] = {
    "/configurations/policy": (
        "GET PUT DELETE",
        "the chain of the model is its policy: hutch train more.dsjson -i MODEL -C other.yaml",
    ),
    "/configurations/applyFromEvaluation": ("POST", "train the better chain, and serve its model"),
    "/evaluations": ("GET POST", "hutch serve log decisions > log.dsjson; hutch evaluate log.dsjson -C chain.yaml"),
    "/evaluations/{evaluationId}": ("GET PUT DELETE", "hutch evaluate prints its results, and keeps none"),
    "/featureImportances": ("GET", "hutch inspect MODEL shows the weights"),
    "/featureImportances/{featureImportanceId}": ("GET PUT DELETE", "hutch inspect MODEL shows the weights"),
    "/logs": ("DELETE", "stop the server and remove the log and its model, which belong together"),
    "/logs/properties": ("GET", "hutch serve log export prints the log with its times"),
    "/logs/interactions": ("POST", "send rank requests, or train the log: hutch train log.dsjson"),
    "/logs/observations": ("POST", "send rewards, or train the log: hutch train log.dsjson"),
    "/model": (
        "GET PUT DELETE",
        "hutch serve backup copies the model with its log, hutch serve restore puts them back",
    ),
}
"""By path, the methods, and what to do instead."""
