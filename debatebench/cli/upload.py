"""`debatebench upload`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import note, say, workspace_of
from debatebench.cli.completion import run_tags
from debatebench.shared.amounts import counted, known_names
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.output.publish.bucket import Target, Upload
    from debatebench.output.publish.folders import PublishedFile
    from debatebench.shared.workspace import Workspace


class Encryption(StrEnum):
    """How a storage encrypts what it stores."""

    AES256 = "AES256"
    KMS = "aws:kms"


def upload(
    context: typer.Context,
    bucket: Annotated[str, typer.Option("--bucket", help="The bucket.")],
    source: Annotated[
        Path | None,
        typer.Option("--source", help="The folder of a site or of an export. Default: reports/site."),
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="Where in the bucket, such as debates/2026.")] = "",
    endpoint_url: Annotated[
        str | None, typer.Option("--endpoint-url", help="The address of another storage than Amazon's.")
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="The region of the bucket.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="A profile in the configuration of AWS.")] = None,
    path_style: Annotated[
        bool,
        typer.Option("--path-style", help="Write the bucket into the path of addresses, as many storages need it."),
    ] = False,
    sse: Annotated[
        Encryption | None, typer.Option("--sse", help="Let the storage encrypt the files. Default: as the bucket does.")
    ] = None,
    sse_kms_key_id: Annotated[
        str | None, typer.Option("--sse-kms-key-id", help="The key for --sse aws:kms. Default: that of the account.")
    ] = None,
    cache_control: Annotated[
        str | None,
        typer.Option(
            "--cache-control",
            help="How long browsers keep files. Default: an hour, and no time for pages and what they load.",
        ),
    ] = None,
    with_journal: Annotated[
        list[str] | None,
        typer.Option(
            "--with-journal",
            help="Also upload the journal of this run, which has every request and raw answer. Repeatable.",
            autocompletion=run_tags,
        ),
    ] = None,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Delete what an earlier upload put there and the folder no longer has."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent and deleted.")] = False,
) -> None:
    """Copy a site or an export to S3 or storage like it.

    Files that are there already are not sent again. Credentials come from the environment, or where else boto3 finds
    them.
    """
    from debatebench.output.publish.bucket import Target
    from debatebench.output.publish.bucket import upload as send
    from debatebench.output.publish.folders import published_files

    workspace = workspace_of(context)
    journals = _journals(workspace, with_journal or ())
    files = [*journals, *published_files(source or workspace.reports / "site", cache_control)]
    target = Target(
        bucket=bucket,
        prefix=f"{'/'.join(part for part in prefix.split('/') if part)}/" if prefix.strip("/") else "",
        endpoint_url=endpoint_url,
        region=region,
        profile=profile,
        is_path_style=path_style,
        encryption=sse.value if sse else None,
        kms_key_id=sse_kms_key_id,
    )
    done = send(files, target, delete=delete, is_rehearsal=dry_run)
    if dry_run:
        _say_plan(done, target)
    else:
        _say_outcome(done, target)


def _journals(workspace: Workspace, run_tags: list[str] | tuple[()]) -> list[PublishedFile]:
    from debatebench.journal.reading import is_of_shard
    from debatebench.journal.shards import journals_of, plan_in, run_tags_in
    from debatebench.output.publish.folders import published_file
    from debatebench.shared.workspace import check_run_tag

    found = []
    for tag in dict.fromkeys(run_tags):
        paths = journals_of(workspace.journal, check_run_tag(tag))
        if not paths:
            known = run_tags_in(workspace.journal)
            raise UsageError(f"There is no journal of a run '{tag}'.{known_names(tag, known)}")
        if is_of_shard(paths[0]):
            paths = [plan_in(paths[0].parent), *paths]
        for path in paths:
            name = path.relative_to(workspace.warehouse).as_posix()
            found.append(replace(published_file(workspace.warehouse, name), is_kept=True))
    return found


def _say_plan(done: Upload, target: Target) -> None:
    for file in done.sent:
        say(f"would send {target.address}{file.name} ({file.size:,} bytes, {file.content_type})")
    for key in done.deleted:
        say(f"would delete s3://{target.bucket}/{key}")
    if done.why_unseen is not None:
        note(f"What is there is not known. {done.why_unseen}")
    say(f"{_sent_text(done, 'would be sent')} to {target.address}{_rest_text(done)}; nothing was changed.")


def _say_outcome(done: Upload, target: Target) -> None:
    say(f"{_sent_text(done, 'sent')} to {target.address}{_rest_text(done)}.")


def _sent_text(done: Upload, what: str) -> str:
    from debatebench.output.publish.folders import size_text

    return f"{counted(len(done.sent), 'file')} {what} ({size_text(done.sent)})"


def _rest_text(done: Upload) -> str:
    there = f", {len(done.equal):,} there already" if done.equal else ""
    return there + (f", {len(done.deleted):,} deleted" if done.deleted else "")
