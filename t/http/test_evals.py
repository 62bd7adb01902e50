"""Evaluation reports and the multimodal configuration against a real nginx."""

import json
import os
import pathlib
import time

import pytest

from harness import environment
from harness.agents import behaviour
from harness.tokens import JWT_ENVIRONMENT, bearer

_ECHO = behaviour("echo")
_REPORTS = pathlib.Path(__file__).resolve().parent / "reports"
_RUNS = "/v1/evals/runs"


def _data(reply, status=200):
    assert reply.status == status, reply.text
    return reply.json()["data"]


def _reports():
    return {f"eval_reports/{file.name}": file.read_text() for file in _REPORTS.glob("*")}


def test_list_and_detail_of_real_reports(start_service):
    service = start_service(_ECHO, files=_reports())
    runs = _data(service.get(_RUNS))["runs"]
    assert [(run["id"], run["run"]) for run in runs] == [
        ("support_20260613_090000", "#2"), ("refunds_20260612_101500", "#1"),
        ("support_20260611_090000", "#1"),
    ]
    newest = runs[0]
    assert newest["rate"] == 100.0 and newest["status"] == "fail", "0.9996 is not all"
    assert newest["name"] == "Support basics" and newest["cases"] == 3
    assert newest["ago"].endswith("d ago")

    run = _data(service.get(f"{_RUNS}/{newest['id']}"))
    assert run["title"] == "Support basics · run #2"
    assert run["sub"] == "support · gpt-4o-mini · 2026-06-13 09:00 · 12.6s"
    assert (run["rate"], run["status"], run["threshold"]) == (100.0, "fail", 75)
    assert [tile["label"] for tile in run["stats"]] == [
        "cases", "passed", "failed", "avg score", "avg latency", "total tokens"]
    assert all(isinstance(tile["value"], str) for tile in run["stats"])
    greet, refund, chat = run["cases"]
    assert greet["rubric"][-1]["key"] == "weighted score" and greet["type"] == "eval"
    assert all(isinstance(row["value"], float) for row in greet["rubric"])
    assert refund["rubric"] is None and refund["score"] == 0.0 and refund["status"] == "fail"
    assert chat["type"] == "sim"
    assert [turn["role"] for turn in chat["conversation"]] == ["sim", "agent", "sim", "agent"]
    regression = run["regression"]
    assert regression["note"]["prev"] == "run #1 (50.0%)"
    assert [row["name"] for row in regression["rows"]] == ["greets the customer", "refund"]
    assert _data(service.get(f"{_RUNS}/support_20260611_090000"))["regression"] is None


def test_without_reports(start_service):
    service = start_service(_ECHO)
    assert _data(service.get(_RUNS)) == {"runs": []}
    reply = service.get(f"{_RUNS}/none")
    assert reply.status == 404 and "not found" in reply.json()["detail"]


def test_broken_reports_are_left_out(start_service):
    good = json.dumps({"eval_set_id": "s", "timestamp": time.time(), "summary": {"pass_rate": 1},
                       "results": [{"passed": True}]})
    service = start_service(_ECHO, files={
        "eval_reports/array.json": "[]", "eval_reports/empty.json": "",
        "eval_reports/text.json": "not JSON", "eval_reports/good.json": good,
        "eval_reports/deep.json": "[" * 5000, "eval_reports/binary.json": b"\xff\x00{"})
    runs = _data(service.get(_RUNS))["runs"]
    assert [(run["id"], run["ago"]) for run in runs] == [("good", "just now")]
    assert _data(service.get(f"{_RUNS}/good"))["cases"][0]["id"] == ""
    for name in ("array", "empty", "text", "deep", "binary"):
        assert service.get(f"{_RUNS}/{name}").status == 404, name


def test_reports_elsewhere_and_as_they_appear(start_service):
    service = start_service(_ECHO | {"evaluation": {"output_dir": "../results", "threshold": 0.8}})
    assert _data(service.get(_RUNS)) == {"runs": []}
    folder = service.directory / "results"
    folder.mkdir()
    (folder / "a.json").write_text('{"eval_set_id": "s"}')
    assert [run["id"] for run in _data(service.get(_RUNS))["runs"]] == ["a"]


def test_nothing_outside_of_the_folder(start_service):
    service = start_service(_ECHO, files=_reports() | {"secret.json": '{"eval_set_id": "x"}'})
    os.symlink(service.directory / "conf" / "secret.json",
               service.directory / "conf" / "eval_reports" / "link.json")
    for name in ("..%2Fsecret", "%2e%2e%2fsecret", "..%5Csecret", "link", "secret", ".",
                 "support_20260611_090000.json", "%2Fetc%2Fpasswd"):
        assert service.get(f"{_RUNS}/{name}").status == 404, name


def test_head_and_other_methods(start_service):
    service = start_service(_ECHO, files=_reports())
    assert service.request("HEAD", _RUNS).status == 200
    assert service.post(_RUNS, {}).status == 405


def test_public_in_spite_of_authentication(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env"},
                            files=_reports() | {"env": JWT_ENVIRONMENT})
    assert service.get(_RUNS).status == 200
    assert service.get(_RUNS, headers={"Authorization": "Bearer wrong"}).status == 200
    assert service.get("/v1/config/multimodal").status == 403
    reply = service.get("/v1/config/multimodal", headers=bearer(scopes=["files:read"]))
    assert reply.json()["detail"] == "Missing required scope: config:read"


@pytest.mark.parametrize(
    "media, variables, shown",
    [
        (None, "", (environment.FILES, "uploads", 25.0, "extract_text")),
        (None, "MEDIA_STORAGE_PATH=./files\nMEDIA_MAX_SIZE_MB=1.5\nDOCUMENT_HANDLING=skip\n",
         (environment.FILES, "files", 1.5, "skip")),
        ({"max_size_mb": 3, "storage_type": "memory"}, "MEDIA_MAX_SIZE_MB=1.5\n",
         ("memory", "uploads", 3.0, "extract_text")),
    ],
)
def test_multimodal_configuration(start_service, media, variables, shown):
    service = start_service(_ECHO | {"media": media, "env": "env"}, files={"env": variables})
    data = _data(service.get("/v1/config/multimodal"))
    assert data == dict(zip(
        ("media_storage_type", "media_storage_path", "media_max_size_mb", "document_handling"),
        shown))


@pytest.mark.parametrize(
    "media, variables, told",
    [
        ({"storage_type": "s3"}, "",
         'media.storage_type: "s3" is not one of memory, local, pg, cloud'),
        (None, "MEDIA_STORAGE_TYPE=s3\n", 'MEDIA_STORAGE_TYPE: "s3" is not one of memory'),
        (None, "MEDIA_MAX_SIZE_MB=big\n", "MEDIA_MAX_SIZE_MB: must be a number above 0"),
        (None, "DOCUMENT_HANDLING=read\n",
         'DOCUMENT_HANDLING: "read" is not one of extract_text, pass_raw, skip'),
        ({"allowed_content_types": ["png"]}, "", "media.allowed_content_types: each type"),
    ],
)
def test_unusable_media_settings(make_service, media, variables, told):
    service = make_service(_ECHO | {"media": media, "env": "env"}, files={"env": variables})
    assert told in service.refusal()
