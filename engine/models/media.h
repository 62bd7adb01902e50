// How files of a message are shown to a model.
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

// The bytes when the message itself holds them, also as a data URL. A type that is not told is the
// usual one of the block's kind.
std::optional<InlineData> InlineDataOf(const MediaBlock& block);
// Names what the model cannot be shown, so that it can say so.
std::string PlaceholderText(const MediaReference& media);

using agent_graph::DecodeBase64;
using agent_graph::EncodeBase64;

}  // namespace agent_graph::models
