// What the readers of XML share: options of libxml2 and its texts.
#pragma once

#include <libxml/xmlreader.h>

#include <string_view>

namespace agent_graph::extract {

// No network, and nothing on stderr: documents come from strangers.
inline constexpr int kXmlOptions = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;

// Empty for null, which libxml2 returns for a text that is not there.
inline std::string_view View(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

}  // namespace agent_graph::extract
