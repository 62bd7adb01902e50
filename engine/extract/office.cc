// Office Open XML (.docx, .pptx, .xlsx) and OpenDocument (.odt, .ods, .odp).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "extract/archive.h"
#include "extract/text.h"

namespace agent_graph::extract {
namespace {

constexpr size_t kSharedTextsMax = 1'000'000;
constexpr long kSpacesMax = 1000;

// Paragraphs end lines. Word and PowerPoint use the same shapes
// under two namespaces.
bool ReadParagraphs(std::string_view xml, Text& out) {
  bool in_text = false;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (element.name == "t") in_text = true;
    if (element.name == "tab") out.Tab();
    if (element.name == "br" || element.name == "cr") out.EndLine();
  };
  handler.on_end = [&](std::string_view name) {
    if (name == "t") in_text = false;
    if (name == "p") out.EndLine();
  };
  handler.on_text = [&](std::string_view text) {
    if (in_text) out.Append(text);
  };
  handler.stop = [&] { return out.full(); };
  return ReadXml(xml, handler);
}

// The texts that cells of a workbook refer to by number.
bool ReadSharedTexts(std::string_view xml, std::vector<std::string>& texts) {
  bool in_text = false;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (element.name == "si" && texts.size() < kSharedTextsMax) texts.emplace_back();
    if (element.name == "t") in_text = true;
  };
  handler.on_end = [&](std::string_view name) {
    if (name == "t") in_text = false;
  };
  handler.on_text = [&](std::string_view text) {
    if (in_text && !texts.empty()) texts.back() += text;
  };
  return ReadXml(xml, handler);
}

bool ReadSheet(std::string_view xml, const std::vector<std::string>& shared, Text& out) {
  bool in_value = false;
  bool is_shared = false;
  bool first = true;
  std::string value;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (element.name == "row") first = true;
    if (element.name == "c") {
      is_shared = element.attribute("t") == "s";
      value.clear();
    }
    if (element.name == "v" || element.name == "t") in_value = true;
  };
  handler.on_text = [&](std::string_view text) {
    if (in_value) value += text;
  };
  handler.on_end = [&](std::string_view name) {
    if (name == "v" || name == "t") in_value = false;
    if (name == "row") out.EndLine();
    if (name != "c") return;
    if (!first) out.Tab();
    first = false;
    if (!is_shared) return out.Append(value);
    size_t index = std::strtoul(value.c_str(), nullptr, 10);
    if (!value.empty() && index < shared.size()) out.Append(shared[index]);
  };
  handler.stop = [&] { return out.full(); };
  return ReadXml(xml, handler);
}

bool ReadOpenDocument(std::string_view xml, Text& out) {
  int paragraphs = 0;  // one inside of another, as in a note
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (element.name == "p" || element.name == "h") ++paragraphs;
    if (element.name == "tab") out.Tab();
    if (element.name == "line-break") out.EndLine();
    if (element.name == "s") {
      long count = std::strtol(element.attribute("c").c_str(), nullptr, 10);
      out.Append(std::string(static_cast<size_t>(std::min(std::max(count, 1L), kSpacesMax)), ' '));
    }
  };
  handler.on_end = [&](std::string_view name) {
    if (name == "p" || name == "h") {
      --paragraphs;
      out.EndLine();
    }
  };
  handler.on_text = [&](std::string_view text) {
    if (paragraphs > 0) out.Append(text);
  };
  handler.stop = [&] { return out.full(); };
  return ReadXml(xml, handler);
}

}  // namespace

std::optional<std::string> WordText(const std::string& path) {
  Archive archive(path);
  if (!archive.ok()) return std::nullopt;
  std::optional<std::string> xml = archive.Read("word/document.xml");
  Text out;
  if (!xml || !ReadParagraphs(*xml, out)) return std::nullopt;
  return out.Take();
}

std::optional<std::string> PresentationText(const std::string& path) {
  Archive archive(path);
  if (!archive.ok()) return std::nullopt;
  Text out;
  std::vector<std::string> slides = archive.Numbered("ppt/slides/slide", ".xml");
  if (slides.empty()) return std::nullopt;
  for (const std::string& slide : slides) {
    std::optional<std::string> xml = archive.Read(slide);
    if (!xml || !ReadParagraphs(*xml, out)) return std::nullopt;
    if (out.full()) break;
  }
  return out.Take();
}

std::optional<std::string> SheetText(const std::string& path) {
  Archive archive(path);
  if (!archive.ok()) return std::nullopt;
  std::vector<std::string> shared;
  if (std::optional<std::string> xml = archive.Read("xl/sharedStrings.xml")) {
    if (!ReadSharedTexts(*xml, shared)) return std::nullopt;
  }
  std::vector<std::string> sheets = archive.Numbered("xl/worksheets/sheet", ".xml");
  if (sheets.empty()) return std::nullopt;
  Text out;
  for (const std::string& sheet : sheets) {
    std::optional<std::string> xml = archive.Read(sheet);
    if (!xml || !ReadSheet(*xml, shared, out)) return std::nullopt;
    if (out.full()) break;
  }
  return out.Take();
}

std::optional<std::string> OpenDocumentText(const std::string& path) {
  Archive archive(path);
  if (!archive.ok()) return std::nullopt;
  std::optional<std::string> xml = archive.Read("content.xml");
  Text out;
  if (!xml || !ReadOpenDocument(*xml, out)) return std::nullopt;
  return out.Take();
}

}  // namespace agent_graph::extract
