#include "base/environment.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"

namespace agent_graph {
namespace {

constexpr size_t kSecretBytesMin = 6;
constexpr std::string_view kBlot = "***";

bool IsNumber(std::string_view text) {
  return text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

// Returns the name of a variable that is written as in a shell: "$NAME" or "Bearer $NAME". Empty if
// `text` is something else.
std::string_view ShellVariable(std::string_view text) {
  constexpr std::string_view kBearer = "Bearer ";
  if (text.starts_with(kBearer)) text.remove_prefix(kBearer.size());
  if (!text.starts_with('$')) return {};
  text.remove_prefix(1);
  const bool has_small_letters = text.find_first_of("abcdefghijklmnopqrstuvwxyz") != text.npos;
  return !has_small_letters && IsVariableName(text) ? text : std::string_view();
}

}  // namespace

bool IsVariableName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

Result<std::string> ExpandVariables(std::string_view text, const Environment& environment,
                                    std::vector<std::string>* values) {
  std::string out;
  if (const std::string_view name = ShellVariable(text); !name.empty()) {
    return InvalidArgument("a variable needs braces: ${" + std::string(name) + "}");
  }
  for (;;) {
    size_t start = text.find("${");
    out += text.substr(0, start);
    if (start == std::string_view::npos) return out;
    size_t end = text.find('}', start);
    if (end == std::string_view::npos) return InvalidArgument("\"${\" without \"}\"");
    std::string_view reference = text.substr(start + 2, end - start - 2);
    size_t separator = reference.find(":-");
    std::string_view name = reference.substr(0, separator);
    if (!IsVariableName(name)) {
      return InvalidArgument("\"${" + std::string(reference) + "}\" does not name a variable");
    }
    auto found = environment.find(name);
    const bool has_default = separator != std::string_view::npos;
    if (found != environment.end() && !(has_default && found->second.empty())) {
      out += found->second;
      if (values != nullptr) values->push_back(found->second);
    } else if (has_default) {
      out += reference.substr(separator + 2);
    } else {
      return InvalidArgument("environment variable " + std::string(name) + " is not set");
    }
    text.remove_prefix(end + 1);
  }
}

void BlotOut(const std::vector<std::string>& secrets, std::string& text) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kSecretBytesMin) continue;
    for (size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kBlot.size())) {
      text.replace(at, secret.size(), kBlot);
    }
  }
}

void BlotOutOfCutText(const std::vector<std::string>& secrets, std::string& text) {
  BlotOut(secrets, text);
  size_t shown = text.size();
  for (const std::string& secret : secrets) {
    if (secret.size() < kSecretBytesMin) continue;
    size_t bytes = std::min(secret.size() - 1, text.size());
    while (!text.ends_with(std::string_view(secret).substr(0, bytes))) --bytes;
    shown = std::min(shown, text.size() - bytes);
  }
  if (shown < text.size()) text.replace(shown, std::string::npos, kBlot);
}

void BlotOut(const std::vector<std::string>& secrets, json& value) {
  if (secrets.empty()) return;
  if (value.is_string()) {
    BlotOut(secrets, value.get_ref<std::string&>());
  } else if (value.is_number() && std::ranges::any_of(secrets, IsNumber)) {
    std::string text = value.dump();
    BlotOut(secrets, text);
    if (text.find(kBlot) != std::string::npos) value = std::move(text);
  } else if (value.is_array()) {
    for (json& element : value) BlotOut(secrets, element);
  } else if (value.is_object()) {
    bool renamed = false;
    for (auto& [name, member] : value.items()) {
      BlotOut(secrets, member);
      std::string shown = name;
      BlotOut(secrets, shown);
      renamed = renamed || shown != name;
    }
    if (!renamed) return;
    json cleaned = json::object();
    for (auto& [name, member] : value.items()) {
      std::string shown = name;
      BlotOut(secrets, shown);
      cleaned[shown] = std::move(member);
    }
    value = std::move(cleaned);
  }
}

}  // namespace agent_graph
