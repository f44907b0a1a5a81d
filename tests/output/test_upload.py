"""Uploads to storage like S3's, over HTTP: what is sent, what is not sent again, and what breaks."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Done, debatebench, debatebench_here
from object_storage import HANG_UP, SECRET, TOKEN, Storage, object_storage, refusal
from werkzeug.wrappers import Response

from debatebench.output.publish.bucket import Target, upload
from debatebench.output.publish.folders import published_files
from debatebench.shared.errors import UsageError

pytestmark = pytest.mark.slow

PAGES = {
    "index.html": "<h1>Debates</h1>",
    "runs/one/index.html": "<h1>One</h1>",
    "assets/site.css": "body {}",
    "assets/site.js": "1",
    "data/one.js": "2" * 1000,
}

FILES = sorted([*PAGES, "manifest.json"])
"""What a site of these pages consists of."""


@pytest.fixture(scope="module")
def running() -> Iterator[Storage]:
    with object_storage() as storage:
        yield storage


@pytest.fixture
def storage(running: Storage) -> Iterator[Storage]:
    """The storage with an empty bucket `site`."""
    running.client.create_bucket(Bucket="site")
    running.requests.clear()
    running.headers.clear()
    yield running
    running.fault = lambda method, path: None
    for key in running.keys("site"):
        running.client.delete_object(Bucket="site", Key=key)
    running.client.delete_bucket(Bucket="site")


def write_site(root: Path, pages: dict[str, str] = PAGES) -> Path:
    folder = root / "reports" / "site"
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    manifest = {"format": "debatebench-site/1", "files": dict.fromkeys(pages)}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_site(tmp_path)
    return tmp_path


def uploaded(storage: Storage, root: Path, *arguments: str) -> Done:
    given = () if "--bucket" in arguments else ("--bucket", "site")
    done = debatebench_here(root, "upload", *given, "--endpoint-url", storage.url, "--path-style", *arguments)
    for text in (SECRET, TOKEN, "AKIACANARY"):
        assert text not in done.out + done.err
    assert "Traceback" not in done.err
    return done


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_a_site_is_copied_with_its_types_and_its_index_comes_last(storage: Storage, root: Path):
    (root / "reports" / "site" / "notes.txt").write_text("not of the site")
    done = uploaded(storage, root, "--prefix", "/debates/2026/")
    assert done.code == 0, done.err
    assert done.out == "6 files sent (1.2 kB) to s3://site/debates/2026/.\n"
    assert storage.keys("site") == [f"debates/2026/{name}" for name in FILES]
    for name, text in PAGES.items():
        assert storage.body("site", f"debates/2026/{name}").decode() == text
    head = storage.client.head_object(Bucket="site", Key="debates/2026/index.html", ChecksumMode="ENABLED")
    assert head["ContentType"] == "text/html; charset=utf-8"
    assert head["CacheControl"] == "no-cache"
    assert storage.puts()[-1] == "/site/debates/2026/index.html"
    sent = [headers for headers in storage.headers if headers.get("HTTP_X_AMZ_CHECKSUM_SHA256")]
    assert len(sent) == len(FILES), "the storage can check each on arrival"


def test_what_is_there_is_not_sent_again(storage: Storage, root: Path):
    assert uploaded(storage, root).code == 0
    storage.requests.clear()
    done = uploaded(storage, root)
    assert done.out == "0 files sent (0.0 kB) to s3://site/, 6 there already.\n"
    assert storage.puts() == []
    (root / "reports" / "site" / "data" / "one.js").write_text("3" * 1000)
    assert uploaded(storage, root).out == "1 file sent (1.0 kB) to s3://site/, 5 there already.\n"
    assert storage.puts() == ["/site/data/one.js"], "the same size, and other bytes"
    assert uploaded(storage, root, "--cache-control", "max-age=60").out.startswith("6 files sent")


def test_an_object_that_somebody_changed_is_sent_again(storage: Storage, root: Path):
    assert uploaded(storage, root).code == 0
    storage.client.put_object(Bucket="site", Key="index.html", Body=PAGES["index.html"][::-1].encode())
    assert uploaded(storage, root).out.startswith("1 file sent")
    assert storage.body("site", "index.html").decode() == PAGES["index.html"]


def test_a_dry_run_changes_nothing(storage: Storage, root: Path):
    done = uploaded(storage, root, "--dry-run")
    assert done.code == 0
    assert "would send s3://site/index.html (16 bytes, text/html; charset=utf-8)\n" in done.out
    assert done.out.endswith("6 files would be sent (1.2 kB) to s3://site/; nothing was changed.\n")
    assert {method for method, _ in storage.requests} <= {"GET", "HEAD"}
    assert storage.keys("site") == []


def test_an_export_is_copied_with_its_manifest(storage: Storage, played: Path, tmp_path: Path):
    out = tmp_path / "exported"
    assert debatebench(played, "export", "--format", "jsonl", "--out-dir", str(out)).code == 0
    (out / "private.txt").write_text("not of the export")
    assert uploaded(storage, played, "--source", str(out)).code == 0
    assert storage.keys("site") == ["debates_t.jsonl", "manifest.json"]


def test_encryption_is_asked_for(storage: Storage, root: Path):
    assert uploaded(storage, root, "--sse", "AES256").code == 0
    assert storage.client.head_object(Bucket="site", Key="index.html")["ServerSideEncryption"] == "AES256"
    asked = [headers.get("HTTP_X_AMZ_SERVER_SIDE_ENCRYPTION") for headers in storage.headers]
    assert asked.count("AES256") == len(FILES)
    assert uploaded(storage, root, "--sse", "AES256").out.startswith("0 files sent")
    assert uploaded(storage, root, "--sse", "aws:kms", "--sse-kms-key-id", "k").out.startswith("6 files sent")
    refused = uploaded(storage, root, "--sse-kms-key-id", "k")
    assert (refused.code, refused.error_line) == (2, "Error: --sse-kms-key-id works only with --sse aws:kms.")


def test_a_journal_is_sent_only_if_it_is_asked_for_and_never_deleted(storage: Storage, copied: Path):
    write_site(copied)
    assert uploaded(storage, copied).code == 0
    assert not [key for key in storage.keys("site") if "journal" in key]
    assert uploaded(storage, copied, "--with-journal", "t").out.startswith("1 file sent")
    assert storage.body("site", "journal/t.jsonl") == (copied / "warehouse" / "journal" / "t.jsonl").read_bytes()
    assert uploaded(storage, copied, "--delete").code == 0
    assert "journal/t.jsonl" in storage.keys("site")
    unknown = uploaded(storage, copied, "--with-journal", "nope")
    assert (unknown.code, "There is no journal of a run 'nope'" in unknown.error_line) == (2, True)


def test_only_what_an_upload_put_there_is_deleted_and_only_if_it_is_asked_for(storage: Storage, root: Path):
    assert uploaded(storage, root).code == 0
    assert uploaded(storage, root, "--prefix", "older").code == 0
    storage.client.put_object(Bucket="site", Key="of-somebody-else.html", Body=b"x")
    write_site(root, {"index.html": "new"})
    assert uploaded(storage, root).code == 0
    assert "runs/one/index.html" in storage.keys("site")
    planned = uploaded(storage, root, "--delete", "--dry-run")
    assert "would delete s3://site/runs/one/index.html\n" in planned.out
    assert "runs/one/index.html" in storage.keys("site")
    done = uploaded(storage, root, "--delete")
    assert done.out == "0 files sent (0.0 kB) to s3://site/, 2 there already, 4 deleted.\n"
    assert storage.keys("site") == sorted(
        ["index.html", "manifest.json", "of-somebody-else.html", *(f"older/{name}" for name in FILES)]
    )


# --- what breaks ------------------------------------------------------------------------------------------------------


def test_an_upload_that_breaks_off_goes_on_where_it_was_stopped(storage: Storage, root: Path):
    def full_after_two(method: str, path: str):
        is_late = method == "PUT" and len(set(storage.puts())) > 2
        return refusal("InternalError", 400, "The disk is full.") if is_late else None

    storage.fault = full_after_two
    broken = uploaded(storage, root)
    assert broken.code == 1
    assert "refused the upload to s3://site/: The disk is full. 2 files arrived; the same" in broken.error_line
    assert len(storage.keys("site")) == 2
    assert "index.html" not in storage.keys("site"), "no page links to what is not there"
    storage.fault = lambda method, path: None
    storage.requests.clear()
    assert uploaded(storage, root).out == "4 files sent (1.2 kB) to s3://site/, 2 there already.\n"
    assert len(storage.puts()) == 4
    assert storage.keys("site") == FILES


def test_a_connection_that_breaks_is_one_sentence_and_the_next_try_goes_on(storage: Storage, root: Path):
    storage.fault = lambda method, path: HANG_UP if method == "PUT" and path.startswith("/site/runs") else None
    broken = uploaded(storage, root)
    assert broken.code == 1
    assert "cannot be reached, or breaks off: " in broken.error_line
    assert broken.error_line.endswith(" 4 files arrived; the same command goes on from there.")
    storage.fault = lambda method, path: None
    assert uploaded(storage, root).out.startswith("2 files sent")
    assert storage.keys("site") == FILES


def test_a_storage_that_fails_for_a_moment_is_asked_again(storage: Storage, root: Path):
    failed: list[str] = []

    def once(method: str, path: str):
        if method == "PUT" and path not in failed:
            failed.append(path)
            return refusal("SlowDown", 503)
        return None

    storage.fault = once
    assert uploaded(storage, root).code == 0
    assert len(failed) == len(FILES)
    assert storage.keys("site") == FILES


def test_a_storage_that_changes_a_file_is_found_out(storage: Storage, root: Path):
    def stale(method: str, path: str):
        if method == "PUT" and path.endswith("site.js"):
            storage.client.put_object(Bucket="site", Key="assets/site.js", Body=b"2")
            return Response(status=200)
        return None

    storage.fault = stale
    done = uploaded(storage, root)
    assert done.code == 1
    assert "s3://site/assets/site.js is not what was sent: its size or checksum differs." in done.error_line


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("AccessDenied", 403, "The credentials may not do this in the bucket 'site': .* s3:PutObject"),
        ("InvalidAccessKeyId", 403, r"does not accept the credentials \(InvalidAccessKeyId\)"),
        ("SignatureDoesNotMatch", 403, r"does not accept the credentials \(SignatureDoesNotMatch\)"),
        ("ExpiredToken", 400, r"does not accept the credentials \(ExpiredToken\)"),
        ("PermanentRedirect", 400, "is in another region; name it with --region"),
        ("Odd", 400, "refused the upload to s3://site/: I saw … and ␛"),
    ],
)
def test_a_refusal_is_one_sentence_without_credentials(
    storage: Storage, root: Path, code: str, status: int, words: str
):
    storage.fault = lambda method, path: refusal(code, status, f"I saw {SECRET} and &#x241b;[31m")
    done = uploaded(storage, root)
    assert done.code == 1
    assert re.search(words, done.error_line), done.error_line


def test_a_bucket_that_is_not_there_is_named(storage: Storage, root: Path):
    done = uploaded(storage, root, "--bucket", "nowhere")
    assert done.code == 1
    assert f"There is no bucket 'nowhere' at {storage.url}; create it, or name another" in done.error_line


def test_without_a_network_the_sentence_names_the_address(root: Path, storage: Storage):
    away = Storage("http://127.0.0.1:9", storage.client)
    done = uploaded(away, root)
    assert done.code == 1
    assert done.error_line.startswith("Error: http://127.0.0.1:9 cannot be reached, or breaks off: ")
    planned = uploaded(away, root, "--dry-run")
    assert planned.code == 0
    assert "What is there is not known. http://127.0.0.1:9 cannot be reached" in planned.err
    assert planned.out.endswith("6 files would be sent (1.2 kB) to s3://site/; nothing was changed.\n")


def test_without_credentials_the_sentence_says_where_they_belong(
    storage: Storage, root: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    done = uploaded(storage, root)
    assert done.code == 1
    assert done.error_line.endswith("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.")
    assert storage.requests == []
    named = uploaded(storage, root, "--profile", "nope")
    assert named.code == 2
    assert "The config profile (nope) could not be found" in named.error_line


# --- what may be published --------------------------------------------------------------------------------------------


def test_a_folder_of_anything_else_is_not_uploaded(played: Path, tmp_path: Path):
    for folder in (tmp_path, played / "warehouse", played / "warehouse" / "journal", tmp_path / "none"):
        with pytest.raises(UsageError, match="is neither a site nor an export"):
            published_files(folder)


def test_a_link_in_the_place_of_a_page_is_not_followed(root: Path):
    page = root / "reports" / "site" / "runs" / "one" / "index.html"
    page.unlink()
    with pytest.raises(UsageError, match=r"index\.html belongs to what is published, and is not a file"):
        published_files(root / "reports" / "site")
    page.symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="is not a file"):
        published_files(root / "reports" / "site")
    shutil.move(root / "reports" / "site" / "runs", root / "away")
    (root / "away" / "one" / "index.html").unlink()
    (root / "away" / "one" / "index.html").write_text("x")
    (root / "reports" / "site" / "runs").symlink_to(root / "away")
    with pytest.raises(UsageError, match="is not a file"):
        published_files(root / "reports" / "site")


@pytest.mark.parametrize("address", ["s3.example.org", "ftp://x", "http://", "https://key:secret@s3.example.org"])
def test_an_address_that_is_none_or_has_a_password_is_refused(root: Path, address: str):
    with pytest.raises(UsageError) as refused:
        upload(published_files(root / "reports" / "site"), Target("site", endpoint_url=address))
    assert "key:secret" not in str(refused.value)
