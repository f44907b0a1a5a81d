"""What LiteLLM's proxy loads for `third_party.py`: one key without a database, and the limit of that key.

LiteLLM's own limiter counts the requests of a key, and declines with 429 and `Retry-After: 60`. With
THIRD_PARTY_RETRY_AFTER=0 neither header nor message says how long to wait, as when other proxies stand in front.
"""

from __future__ import annotations

import os

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import ProxyException, UserAPIKeyAuth


async def known_key(request: object, api_key: str) -> UserAPIKeyAuth:
    """The limits of the key that a request carries; any other key is refused."""
    if api_key != os.environ["THIRD_PARTY_KEY"]:
        raise ProxyException(message="Unknown key.", type="auth_error", param=None, code=401)
    return UserAPIKeyAuth(api_key=api_key, rpm_limit=int(os.environ["THIRD_PARTY_RPM"]))


class WithoutRetryAfter(CustomLogger):
    """Replaces the error of the limiter with one that has no headers."""

    async def async_post_call_failure_hook(
        self, request_data: dict, original_exception: Exception, *_: object, **__: object
    ) -> HTTPException | None:
        is_limit = getattr(original_exception, "status_code", None) == 429
        if not is_limit or os.environ["THIRD_PARTY_RETRY_AFTER"] == "1":
            return None
        return HTTPException(429, detail="Rate limit exceeded.")


without_retry_after = WithoutRetryAfter()
