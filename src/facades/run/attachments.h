// Images and files in results of tools. A result is JSON for the model, so they follow the results
// as a message of the user, each group behind a text that names its call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::facades {

// The text of a result that has only images and files.
inline constexpr std::string_view kAttachedResult = "The result is attached below.";

// Appends the images and files of the result of a call.
void Attach(const std::string& call_id, std::vector<ContentBlock> media, Message& attachments);
// Returns the text of a result. Moves the images and files out of its content.
std::string TakeResultText(const std::string& call_id, Message& result, Message& attachments);
// Returns the call to whose result the blocks behind this one belong; nullopt: the block is none
// that names a call.
std::optional<std::string> AttachedCall(const ContentBlock& block);
// True if Attach has made the message. A user who only writes the same text has made another one.
bool IsAttachments(const Message& message);
// Removes what belongs to the results of these calls.
void Detach(const std::unordered_set<std::string>& calls, Message& attachments);

}  // namespace agent_graph::facades
