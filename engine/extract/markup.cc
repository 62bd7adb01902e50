// Reads HTML and XML with libxml2: no network, no external entities, no expansion of declared
// entities.
#include <libxml/HTMLparser.h>

#include <array>
#include <climits>
#include <memory>

#include "extract/text.h"
#include "extract/xml.h"

namespace agent_graph::extract {
namespace {

constexpr int kHtmlOptions =
    HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET;
constexpr int kDepthMax = 256;

bool IsHidden(std::string_view element) {
  for (std::string_view hidden : {"script", "style", "noscript", "template", "title"}) {
    if (element == hidden) return true;
  }
  return false;
}

bool IsInline(std::string_view element) {
  static constexpr auto kInline = std::to_array<std::string_view>(
      {"a",    "abbr",   "b",   "bdi", "bdo",  "big", "cite", "code", "dfn",
       "em",   "font",   "i",   "kbd", "mark", "q",   "s",    "samp", "small",
       "span", "strong", "sub", "sup", "time", "tt",  "u",    "var"});
  for (std::string_view name : kInline) {
    if (element == name) return true;
  }
  return false;
}

// Reduces each run of white space to one space, as browsers do.
void AppendCollapsed(Text& out, std::string_view text) {
  std::string collapsed;
  for (char c : text) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (!blank) {
      collapsed.push_back(c);
    } else if (collapsed.empty() || collapsed.back() != ' ') {
      collapsed.push_back(' ');
    }
  }
  if (collapsed != " ") out.Append(collapsed);
}

void Walk(const xmlNode* node, Text& out, int depth) {
  for (; node != nullptr && !out.full(); node = node->next) {
    if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
      AppendCollapsed(out, View(node->content));
      continue;
    }
    if (node->type != XML_ELEMENT_NODE) continue;
    const std::string_view name = View(node->name);
    if (IsHidden(name) || depth == kDepthMax) continue;
    const bool cell = name == "td" || name == "th";
    const bool block = !cell && !IsInline(name);
    if (block) out.EndLine();
    Walk(node->children, out, depth + 1);
    if (cell && xmlNextElementSibling(const_cast<xmlNode*>(node)) != nullptr) out.Tab();
    if (block) out.EndLine();
  }
}

}  // namespace

std::optional<std::string> HtmlText(std::string_view bytes) {
  if (bytes.size() > INT_MAX) return std::nullopt;
  std::unique_ptr<xmlDoc, void (*)(xmlDoc*)> document(
      htmlReadMemory(bytes.data(), static_cast<int>(bytes.size()), nullptr, nullptr, kHtmlOptions),
      xmlFreeDoc);
  if (document == nullptr) return std::nullopt;
  Text out;
  Walk(xmlDocGetRootElement(document.get()), out, 0);
  return out.Take();
}

std::optional<std::string> XmlText(std::string_view bytes) {
  if (bytes.size() > INT_MAX) return std::nullopt;
  std::unique_ptr<xmlTextReader, void (*)(xmlTextReader*)> reader(
      xmlReaderForMemory(bytes.data(), static_cast<int>(bytes.size()), nullptr, nullptr,
                         kXmlOptions),
      xmlFreeTextReader);
  if (reader == nullptr) return std::nullopt;
  Text out;
  int more = 1;
  while (!out.full() && (more = xmlTextReaderRead(reader.get())) == 1) {
    int type = xmlTextReaderNodeType(reader.get());
    if (type == XML_READER_TYPE_TEXT || type == XML_READER_TYPE_CDATA) {
      AppendCollapsed(out, View(xmlTextReaderConstValue(reader.get())));
      out.EndLine();
    }
  }
  if (more < 0) return std::nullopt;
  return out.Take();
}

}  // namespace agent_graph::extract
