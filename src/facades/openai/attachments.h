// Images and files in results of tools. A result is JSON for the model, so they follow the results
// as a message of the user, each group behind a text that names its call.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::openai {

// Appends the images and files of the result of a call.
void Attach(const std::string& call_id, std::vector<ContentBlock> media, Message& attachments);
// True if Attach has made the message.
bool IsAttachments(const Message& message);
// Removes what belongs to the results of these calls.
void Detach(const std::unordered_set<std::string>& calls, Message& attachments);

}  // namespace agent_graph::openai
