// Reads Office Open XML (.docx, .pptx, .xlsx) and OpenDocument (.odt, .ods, .odp).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "extract/archive.h"
#include "extract/text.h"

namespace agent_graph::extract {
namespace {

constexpr size_t kSharedTextsMax = 1'000'000;
constexpr long kSpacesMax = 1000;

// Skips elements together with their content.
class PassedOver {
 public:
  // True if the element is skipped: `wanted` is false, or it is inside a skipped element.
  bool Start(bool wanted) {
    if (depth_ == 0 && wanted) return false;
    ++depth_;
    return true;
  }
  bool End() {
    if (depth_ == 0) return false;
    --depth_;
    return true;
  }
  bool within() const { return depth_ > 0; }

 private:
  size_t depth_ = 0;
};

// Content that is stored in several versions for different programs (mc:AlternateContent). The
// first version that has text is read.
class Alternatives {
 public:
  // False: the element is another version of content that was already read.
  bool Start(std::string_view element) {
    if (element == "AlternateContent") taken_.push_back(false);
    const bool is_form = element == "Choice" || element == "Fallback";
    return !is_form || taken_.empty() || !taken_.back();
  }
  void HasText() { taken_.assign(taken_.size(), true); }
  void End(std::string_view element) {
    if (element == "AlternateContent" && !taken_.empty()) taken_.pop_back();
  }

 private:
  std::vector<bool> taken_;  // for each open element: one of its versions had text
};

// Each paragraph is one line. Word and PowerPoint use the same element names in two namespaces.
bool ReadParagraphs(std::string_view xml, Text& out) {
  bool in_text = false;
  PassedOver passed_over;
  Alternatives alternatives;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (passed_over.Start(passed_over.within() || alternatives.Start(element.name))) return;
    if (element.name == "t") in_text = true;
    if (element.name == "tab") out.Tab();
    if (element.name == "br" || element.name == "cr") out.EndLine();
  };
  handler.on_end = [&](std::string_view name) {
    if (passed_over.End()) return;
    alternatives.End(name);
    if (name == "t") in_text = false;
    if (name == "p") out.EndLine();
  };
  handler.on_text = [&](std::string_view text) {
    if (!in_text || passed_over.within()) return;
    alternatives.HasText();
    out.Append(text);
  };
  handler.stop = [&] { return out.full(); };
  return ReadXml(xml, handler);
}

// Phonetic guides, which some languages store in the cells beside the text.
constexpr std::string_view kPhonetic = "rPh";

// Reads the texts that cells of a workbook refer to by number.
bool ReadSharedTexts(std::string_view xml, std::vector<std::string>& texts) {
  bool in_text = false;
  PassedOver passed_over;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (passed_over.Start(element.name != kPhonetic)) return;
    if (element.name == "si" && texts.size() < kSharedTextsMax) texts.emplace_back();
    if (element.name == "t") in_text = true;
  };
  handler.on_end = [&](std::string_view name) {
    if (!passed_over.End() && name == "t") in_text = false;
  };
  handler.on_text = [&](std::string_view text) {
    if (in_text && !passed_over.within() && !texts.empty()) texts.back() += text;
  };
  return ReadXml(xml, handler);
}

bool ReadSheet(std::string_view xml, const std::vector<std::string>& shared, Text& out) {
  bool in_value = false;
  bool is_shared = false;
  bool first = true;
  std::string value;
  PassedOver passed_over;
  XmlHandler handler;
  handler.on_start = [&](const XmlElement& element) {
    if (passed_over.Start(element.name != kPhonetic)) return;
    if (element.name == "row") first = true;
    if (element.name == "c") {
      is_shared = element.attribute("t") == "s";
      value.clear();
    }
    if (element.name == "v" || element.name == "t") in_value = true;
  };
  handler.on_text = [&](std::string_view text) {
    if (in_value && !passed_over.within()) value += text;
  };
  handler.on_end = [&](std::string_view name) {
    if (passed_over.End()) return;
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
  int paragraphs = 0;  // nesting depth: notes have paragraphs inside paragraphs
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
