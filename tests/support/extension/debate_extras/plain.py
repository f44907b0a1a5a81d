"""Plain: a server that takes {"model", "prompt"} and answers {"text", "tokens": [of the prompt, of the text]}."""

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import httpx
import msgspec

from debatebench.config.types import MemberConfig
from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply, Request, TimeLimits
from debatebench.providers.endpoints import key_for
from debatebench.providers.redaction import without_keys_in_bytes


class Plain:
    is_simulated = False

    def __init__(self, member: MemberConfig, environ: Mapping[str, str] | None) -> None:
        self.name = member.provider
        self._url = member.endpoint or "http://127.0.0.1:8765"
        self._key = None if environ is None else key_for(member, environ)
        self._client: httpx.AsyncClient | None = None

    async def send(self, request: Request, adjusted: Collection[str] = (), limits: TimeLimits | None = None) -> Reply:
        self._client = self._client or httpx.AsyncClient(trust_env=False)
        prompt = "\n\n".join(message.content for message in request.messages)
        started = time.monotonic()
        try:
            answer = await self._client.post(
                self._url,
                json={"model": request.model, "prompt": prompt, "max_tokens": request.max_tokens},
                headers={"x-key": self._key} if self._key else {},
                timeout=limits.whole_s if limits else None,
            )
        except httpx.ConnectError as error:
            raise ProviderFailure(FailureKind.UNSENT, f"{self.name} could not be reached: {error}.") from error
        except httpx.HTTPError as error:
            raise ProviderFailure(FailureKind.AMBIGUOUS, f"{self.name} gave no whole answer: {error!r}.") from error
        return Reply(
            status=answer.status_code,
            body=without_keys_in_bytes(answer.content, [self._key] if self._key else []),
            headers={},
            received_at=datetime.now(UTC).replace(tzinfo=None),
            duration_ms=(time.monotonic() - started) * 1000,
        )

    def read(self, reply: Reply, request: Request | None = None, adjusted: Collection[str] = ()) -> Completion:
        if reply.status != 200:
            kind = FailureKind.RETRY if reply.status in (429, 503) else FailureKind.FAILED
            raise ProviderFailure(kind, f"{self.name} answered with status {reply.status}.", http_status=reply.status)
        try:
            answer = msgspec.json.decode(reply.body)
            prompt, text = answer["tokens"]
            return Completion(answer["text"], prompt_tokens=prompt, completion_tokens=text, total_tokens=prompt + text)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            message = f"{self.name} sent an answer of another form: {error!r}."
            raise ProviderFailure(FailureKind.AMBIGUOUS, message, http_status=200) from error

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
