// Marks reasoning signatures with the provider that made them. A conversation may continue with a
// model of another provider, which refuses signatures that are not its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::models {

std::string MarkSignature(std::string_view owner, std::string_view signature);
// The signature as `owner` sent it; nullopt if it belongs to another provider or is empty. A
// signature without a mark was not stored by us and is returned unchanged.
std::optional<std::string_view> SignatureOf(std::string_view owner, std::string_view marked);

}  // namespace agent_graph::models
