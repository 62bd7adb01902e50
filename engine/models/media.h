// Converts files in messages to the form that models accept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/message.h"
#include "base/base64.h"

namespace agent_graph::models {

struct InlineData {
  std::string mime_type;
  std::string base64;
};

// The bytes, if the message itself contains them, also as a data URL. If the type is missing, uses
// the usual one for the kind of block.
std::optional<InlineData> InlineDataOf(const MediaBlock& block);
// A text in place of a file that the model cannot receive, so that its reply can mention the file.
std::string PlaceholderText(const MediaReference& media);

using agent_graph::DecodeBase64;
using agent_graph::EncodeBase64;

}  // namespace agent_graph::models
