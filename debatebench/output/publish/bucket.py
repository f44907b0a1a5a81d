"""A bucket of S3, or of storage that speaks its protocol: what is missing there is put there, and then checked.

An object that has the bytes, type and headers of its file is not sent again, so an interrupted upload goes on where it
was stopped. Each object has the SHA-256 of its file in its metadata, by which later uploads know it, and the prefix of
its upload, by which they know that it is theirs. The storage checks the same hash on arrival where it can, and
afterwards its answer is compared with the file.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from debatebench.output.publish.folders import PublishedFile
from debatebench.shared.activity import doing
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError, UsageError

Encryption = Literal["AES256", "aws:kms"]

_SHA256, _PREFIX = "debatebench-sha256", "debatebench-prefix"
_LARGEST = 5 * 2**30
"""Bytes. S3 takes no more in one request."""
_ATTEMPTS = 4
_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 10, 120
_PER_DELETION = 1000
_REJECTED = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidClientTokenId")
_FORBIDDEN = ("AccessDenied", "403", "AllAccessDisabled", "UnauthorizedAccess")


@dataclass(frozen=True, slots=True)
class Target:
    """Where in a bucket files go, and how they are stored. `prefix` is empty or ends with `/`."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    is_path_style: bool = False
    encryption: Encryption | None = None
    kms_key_id: str | None = None

    @property
    def address(self) -> str:
        """Where it is, for people."""
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(slots=True)
class Upload:
    """What an upload did, or would do: the files that were sent, those that were there, and the keys deleted."""

    sent: list[PublishedFile] = field(default_factory=list)
    equal: list[PublishedFile] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    why_unseen: str | None = None
    """In a rehearsal, why the bucket could not be looked at; what is there is then unknown."""


class _UnseenError(DebatebenchError):
    """The bucket cannot be looked at, for a reason that says nothing about it."""


def upload(
    files: Sequence[PublishedFile], target: Target, *, delete: bool = False, is_rehearsal: bool = False
) -> Upload:
    """Put the files that are not there yet into the bucket, in their order, and check each.

    With `delete`, objects that an earlier upload to the same prefix put there are deleted last, if they are not among
    the files; others never are, and no journal. With `is_rehearsal` nothing is sent or deleted.

    Raises `UsageError` for a target or file that cannot be used, `DebatebenchError` where credentials or the bucket are
    missing, something is not allowed, the storage cannot be reached, or what it has is not what was sent.
    """
    _check(files, target)
    done = Upload()
    secrets: list[str] = []
    try:
        with _sentences(target, done, secrets):
            client = _client(target, secrets)
            there = _listed(client, target)
            wanted = {target.prefix + file.name: file for file in files}
            for number, (key, file) in enumerate(wanted.items()):
                doing("Uploading", number, len(wanted))
                if there.get(key) == file.size and _is_equal(client, target, key, file):
                    done.equal.append(file)
                    continue
                if not is_rehearsal:
                    _send(client, target, key, file)
                done.sent.append(file)
            if delete:
                done.deleted = [key for key in there if key not in wanted and _is_ours(client, target, key)]
                if not is_rehearsal:
                    _delete(client, target, done.deleted)
    except _UnseenError as error:
        if not is_rehearsal:
            raise DebatebenchError(error.message) from error
        done = Upload(sent=list(files), why_unseen=error.message)
    return done


def _check(files: Sequence[PublishedFile], target: Target) -> None:
    if target.endpoint_url is not None:
        address = urlsplit(target.endpoint_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UsageError(
                f"{target.endpoint_url!r} is not the address of a storage, such as https://s3.example.org."
            )
        if address.username or address.password:
            raise UsageError("An address with a password is not accepted; credentials come from the environment.")
    if target.kms_key_id is not None and target.encryption != "aws:kms":
        raise UsageError("--sse-kms-key-id works only with --sse aws:kms.")
    for file in files:
        if file.size > _LARGEST:
            raise UsageError(f"{file.path} has more than 5 GiB, which storage like S3 does not take in one request.")


def _client(target: Target, secrets: list[str]) -> Any:
    """A client with the credentials that boto3 finds; `secrets` gets what of them must not be printed."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise DebatebenchError(
            "An upload needs the package boto3; pip install 'debatebench-warehouse[s3]' installs it."
        ) from error
    session = boto3.Session(profile_name=target.profile, region_name=target.region)
    if (found := session.get_credentials()) is not None:
        used = found.get_frozen_credentials()
        secrets += [text for text in (used.secret_key, used.token, used.access_key) if text]
    config = Config(
        # "virtual" puts the name of the bucket into that of the host, which many storages do not have.
        s3={"addressing_style": "path" if target.is_path_style else "auto"},
        retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        # Storage that only resembles S3 may not know the checksums that boto3 would add to ours.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        user_agent_extra="debatebench",
    )
    region = session.region_name or "us-east-1"
    return session.client("s3", endpoint_url=target.endpoint_url, region_name=region, config=config)


def _listed(client: Any, target: Target) -> dict[str, int]:
    """The objects below the prefix: key → bytes."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=target.bucket, Prefix=target.prefix)
    return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", ())}


def _is_equal(client: Any, target: Target, key: str, file: PublishedFile) -> bool:
    """Whether an object has the bytes, the type and the headers of the file, and is encrypted as asked."""
    head = _head(client, target, key)
    return (
        _has_bytes(head, file)
        and head.get("ContentType") == file.content_type
        and head.get("CacheControl") == file.cache_control
        and target.encryption in (None, head.get("ServerSideEncryption"))
    )


def _head(client: Any, target: Target, key: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = client.head_object(Bucket=target.bucket, Key=key, ChecksumMode="ENABLED")
    return found


def _has_bytes(head: Mapping[str, Any], file: PublishedFile) -> bool:
    """Whether the size, the hash in the metadata, and the hash that the storage computed are those of the file."""
    computed = head.get("ChecksumSHA256", _base64(file))
    noted = head.get("Metadata", {}).get(_SHA256)
    return bool(head["ContentLength"] == file.size and noted == file.sha256.hex() and computed == _base64(file))


def _base64(file: PublishedFile) -> str:
    return b64encode(file.sha256).decode("ascii")


def _send(client: Any, target: Target, key: str, file: PublishedFile) -> None:
    """Put one object, which the storage refuses if it arrives changed, and look at what it has now."""
    more: dict[str, Any] = {}
    metadata = {_SHA256: file.sha256.hex()}
    if not file.is_kept:
        metadata[_PREFIX] = quote(target.prefix)
    if target.encryption is not None:
        more["ServerSideEncryption"] = target.encryption
    if target.kms_key_id is not None:
        more["SSEKMSKeyId"] = target.kms_key_id
    with file.path.open("rb") as body:
        client.put_object(
            Bucket=target.bucket,
            Key=key,
            Body=body,
            ContentLength=file.size,
            ContentType=file.content_type,
            CacheControl=file.cache_control,
            ChecksumSHA256=_base64(file),
            Metadata=metadata,
            **more,
        )
    if not _has_bytes(_head(client, target, key), file):
        raise DebatebenchError(
            f"{target.address}{file.name} is not what was sent: its size or checksum differs. Upload again; if that "
            "does not help, the storage or a proxy before it changes files."
        )


def _is_ours(client: Any, target: Target, key: str) -> bool:
    """Whether an upload to the same prefix put it there, and may delete it."""
    return bool(_head(client, target, key).get("Metadata", {}).get(_PREFIX) == quote(target.prefix))


def _delete(client: Any, target: Target, keys: Sequence[str]) -> None:
    for start in range(0, len(keys), _PER_DELETION):
        part = [{"Key": key} for key in keys[start : start + _PER_DELETION]]
        answer = client.delete_objects(Bucket=target.bucket, Delete={"Objects": part, "Quiet": True})
        if errors := answer.get("Errors"):
            first = errors[0]
            raise DebatebenchError(
                f"{counted(len(errors), 'object')} of {target.address} could not be deleted, such as "
                f"{first.get('Key')}: {first.get('Message') or first.get('Code')}."
            )


# --- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def _sentences(target: Target, done: Upload, secrets: Sequence[str]) -> Iterator[None]:
    """Errors of boto3 as sentences without `secrets`, which say how far the upload came."""
    try:
        yield
    except DebatebenchError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("botocore", "boto3", "s3transfer")):
            raise
        found = _told(error, target, done)
        text = found.message
        for secret in secrets:
            text = text.replace(secret, "…")
        raise type(found)(text) from error


def _told(error: Exception, target: Target, done: Upload) -> DebatebenchError:
    """An error of boto3 as one of ours."""
    from botocore.exceptions import ClientError

    kind, where = type(error).__name__, target.endpoint_url or "Amazon S3"
    after = f" {counted(len(done.sent), 'file')} arrived; the same command goes on from there." if done.sent else ""
    if kind in ("NoCredentialsError", "PartialCredentialsError"):
        return _UnseenError(
            f"There are no credentials for {where}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        )
    if kind == "ProfileNotFound":
        return UsageError(f"{_one_line(error)} Name another with --profile, or none.")
    if kind in ("ParamValidationError", "InvalidRegionError"):
        return UsageError(f"{target.address} cannot be used: {_one_line(error)}")
    if isinstance(error, ClientError):
        return DebatebenchError(_refusal(target, where, error.response) + after)
    text = f"{where} cannot be reached, or breaks off: {_one_line(error)}"
    # Before anything was sent, it says nothing about the bucket.
    return DebatebenchError(text + after) if after else _UnseenError(text)


def _refusal(target: Target, where: str, response: Mapping[str, Any]) -> str:
    """What the storage answered, as a sentence."""
    found = response.get("Error", {})
    code, status = str(found.get("Code", "")), response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code == "NoSuchBucket":
        return f"There is no bucket '{target.bucket}' at {where}; create it, or name another with --bucket."
    if code in _REJECTED:
        return f"{where} does not accept the credentials ({code})."
    if code in _FORBIDDEN or status == 403:
        return (
            f"The credentials may not do this in the bucket '{target.bucket}': an upload lists objects, and reads and "
            "puts those below its prefix (s3:ListBucket, s3:GetObject, s3:PutObject; --delete needs s3:DeleteObject)."
        )
    if code in ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"):
        return f"The bucket '{target.bucket}' is in another region; name it with --region."
    said = " ".join(str(found.get("Message") or code or status).split()).rstrip(".")
    return f"{where} refused the upload to {target.address}: {said}."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") + "."
