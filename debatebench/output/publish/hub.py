"""A dataset on Hugging Face's Hub: an exported folder becomes one commit of a repository, which is private by default.

The token comes from `HF_TOKEN` alone, not from where other programs have stored one, and is never printed. Files that
the repository has are not sent again, and none is deleted.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debatebench.shared.activity import doing
from debatebench.shared.errors import DebatebenchError, UsageError

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Push:
    """Where a dataset goes: `repository` is OWNER/NAME."""

    repository: str
    is_public: bool = False

    @property
    def address(self) -> str:
        """The address of the dataset's page."""
        return f"{_endpoint()}/datasets/{self.repository}"


def check_push(push: Push, *, needs_token: bool = True) -> None:
    """Raise `UsageError` for a name that is no repository, `DebatebenchError` without the package or the token."""
    if not _REPOSITORY.fullmatch(push.repository):
        raise UsageError(f"{push.repository!r} is not a repository of the Hub, such as my-name/my-debates.")
    try:
        import huggingface_hub  # noqa: F401
    except ImportError as error:
        raise DebatebenchError(
            "A push needs the package huggingface_hub; pip install 'debatebench-warehouse[huggingface]' installs it."
        ) from error
    if needs_token and not _token():
        raise DebatebenchError("There is no token for the Hub: set HF_TOKEN to one that may write to the repository.")


def push_dataset(folder: Path, push: Push, message: str) -> str:
    """Push an exported folder as one commit, and return the address of the dataset.

    A new repository is private unless `is_public`. Raises `UsageError` where the repository is public and `is_public`
    was not given, `DebatebenchError` where the token is missing or may not do this, or the Hub cannot be reached.
    """
    check_push(push)
    token = _token()
    # The package would also tell the Hub what runs here.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    api = HfApi(endpoint=_endpoint(), token=token, library_name="debatebench")
    try:
        doing(f"Pushing to {push.repository}")
        api.create_repo(push.repository, repo_type="dataset", private=not push.is_public, exist_ok=True)
        if not push.is_public and not api.repo_info(push.repository, repo_type="dataset").private:
            raise UsageError(f"The dataset {push.repository} is public; give --public to push to it.")
        api.upload_folder(repo_id=push.repository, repo_type="dataset", folder_path=folder, commit_message=message)
    except DebatebenchError:
        raise
    except Exception as error:  # what the package raises has no common class
        raise DebatebenchError(_told(error, push).replace(token, "…")) from error
    return push.address


def _token() -> str:
    return os.environ.get("HF_TOKEN", "").strip()


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", _HUB).rstrip("/")


def _told(error: Exception, push: Push) -> str:
    """An error of the Hub as a sentence."""
    answer: Any = getattr(error, "response", None)
    status = getattr(answer, "status_code", None)
    said = " ".join(str(getattr(error, "server_message", None) or error).split()).rstrip(".")
    if status == 401:
        return f"{_endpoint()} does not accept the token in HF_TOKEN."
    if status == 403:
        return f"The token in HF_TOKEN may not write to {push.repository}; give it write access, or name another."
    if status is not None:
        return f"{_endpoint()} refused the push to {push.repository}: {said}."
    return f"{_endpoint()} cannot be reached, or breaks off: {said}."
