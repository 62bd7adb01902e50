"""Bodies of multipart/form-data."""

_BOUNDARY = "----test-boundary-7f"


def part(name, data, filename=None, content_type=None):
    """One part as bytes."""
    head = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        head += f'; filename="{filename}"'
    if content_type is not None:
        head += f"\r\nContent-Type: {content_type}"
    return head.encode() + b"\r\n\r\n" + data


def form(*parts, boundary=_BOUNDARY):
    """Returns (headers, body) of a form with these parts."""
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + one + b"\r\n" for one in parts)
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return headers, body + f"--{boundary}--\r\n".encode()


def file_form(data, filename="file.bin", content_type="application/octet-stream"):
    return form(part("file", data, filename, content_type))


def upload(service, data, filename="file.bin", content_type="application/octet-stream", headers=()):
    """Uploads one file; returns the reply."""
    own, body = file_form(data, filename, content_type)
    return service.post("/v1/files/upload", body, headers=[*own.items(), *headers])


def uploaded(service, data, *arguments, **options):
    """Uploads one file, which must succeed; returns its record."""
    reply = upload(service, data, *arguments, **options)
    assert reply.status == 200, reply.text
    return reply.json()["data"]
