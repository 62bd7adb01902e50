"""Small documents in several formats, each with the text "Hello document"."""

import io
import zipfile

TEXT = "Hello document"


def pdf(text=TEXT):
    """A PDF of one page; `text` must not contain parentheses."""
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    return pdf_of(objects)


def pdf_of(objects):
    """A PDF file with these objects, numbered from 1; the first one is the catalog."""
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, table)


def endless_pdf():
    """A page that draws a form, which draws thirty forms, each of which draws thirty, and so on."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>",
               b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R "
               b"/Resources << /XObject << /F 5 0 R >> >> >>",
               b"<< /Length 5 >>\nstream\n/F Do\nendstream"]
    draw = b"/F Do " * 30
    levels = 12
    for level in range(levels):
        body = draw if level < levels - 1 else b"0 0 m 1 1 l S"
        objects.append(b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length %d "
                       b"/Resources << /XObject << /F %d 0 R >> >> >>\nstream\n%s\nendstream"
                       % (len(body), 6 + level, body))
    return pdf_of(objects)


def archive(files):
    """A ZIP archive; `files` is {name: text or bytes}. Equal files give equal bytes at any time, because the
    bytes are in the names of tests."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def docx(text=TEXT):
    return archive({"word/document.xml": '<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>'
                                         f"{text}</w:t></w:r></w:p></w:body></w:document>"})


def pptx(text=TEXT):
    return archive({"ppt/slides/slide1.xml": f'<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>{text}'
                                             "</a:t></a:r></a:p></p:sld>"})


def xlsx(text=TEXT):
    return archive({
        "xl/sharedStrings.xml": f"<sst><si><t>{text}</t></si></sst>",
        "xl/worksheets/sheet1.xml": '<worksheet><row><c t="s"><v>0</v></c></row></worksheet>'})


def odt(text=TEXT):
    return archive({"content.xml": f'<o xmlns:text="t"><text:p>{text}</text:p></o>'})
