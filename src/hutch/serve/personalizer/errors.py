"""Errors in the form of Azure, `{"error": {"code", "message"}}`, with the codes of Personalizer."""

from typing import Any

from hutch.net.application import Dialect

_CODES = {
    501: "OperationNotAllowed",
    404: "ResourceNotFound",
    405: "OperationNotAllowed",
    409: "BadRequest",
    413: "PayloadSizeExceeded",
}
_OF_PATHS = {
    "/rank": "InvalidRankRequest",
    "/reward": "InvalidRewardRequest",
    "/activate": "InvalidEventIdToActivate",
    "/configurations/service": "InvalidServiceConfiguration",
}


def azure_error(path: str, status: int, text: str) -> tuple[int, dict[str, Any]]:
    """The status and the content of an error.

    >>> azure_error("/personalizer/{version}/rank", 422, "no actions")
    (400, {'error': {'code': 'InvalidRankRequest', 'message': 'no actions'}})
    """
    status = 400 if status == 422 else status
    code = _CODES.get(status, "InternalServerError" if status >= 500 else "BadRequest")
    if status == 400:
        code = next((code for end, code in _OF_PATHS.items() if path.endswith(end)), code)
    elif status in (401, 403):
        code = str(status)
    return status, {"error": {"code": code, "message": text}}


DIALECT = Dialect("/personalizer/", "ocp-apim-subscription-key", azure_error)
