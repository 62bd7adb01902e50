// Signatures of reasoning, marked with whose they are: a conversation may go on with a model of
// another provider, which refuses a signature that it has not made.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::models {

std::string MarkSignature(std::string_view owner, std::string_view signature);
// The signature as `owner` sent it. Nothing when it is another's, or when there is none. One
// without a mark, which is none of ours, passes as it is.
std::optional<std::string_view> SignatureOf(std::string_view owner, std::string_view marked);

}  // namespace agent_graph::models
