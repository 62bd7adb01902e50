// Shared by the readers of XML: options of libxml2, and access to its strings.
#pragma once

#include <libxml/xmlreader.h>

#include <string_view>

namespace agent_graph::extract {

// No network access and no output on stderr: documents are not trusted.
inline constexpr int kXmlOptions = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;

// Empty for null, which libxml2 returns for a missing text.
inline std::string_view View(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

}  // namespace agent_graph::extract
