#include "tools/mcp/oauth/challenge.h"

#include <algorithm>
#include <utility>

#include "base/letter_case.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr size_t kScopesMax = 64;
constexpr size_t kHeaderBytesMax = 8 * 1024;

// Parses a header with challenges from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text.substr(0, kHeaderBytesMax)) {}

  bool AtEnd() {
    Skip(", \t");
    return text_.empty();
  }
  std::string_view Token() {
    const size_t end = std::min(text_.find_first_of("=, \t\""), text_.size());
    return Take(end);
  }
  // True if a value follows; it is then the next token.
  bool HasValue() {
    Skip(" \t");
    // A scheme may be followed by a "token68" value, which ends with '='.
    if (!text_.starts_with('=')) return false;
    Take(1);
    Skip(" \t");
    return true;
  }
  std::string Value() {
    if (!text_.starts_with('"')) return std::string(Token());
    Take(1);
    std::string value;
    while (!text_.empty() && text_.front() != '"') {
      if (text_.front() == '\\' && text_.size() > 1) Take(1);
      value += Take(1);
    }
    if (!text_.empty()) Take(1);
    return value;
  }
  void Drop() { Take(std::min<size_t>(1, text_.size())); }

 private:
  void Skip(std::string_view blanks) {
    text_.remove_prefix(std::min(text_.find_first_not_of(blanks), text_.size()));
  }
  std::string_view Take(size_t count) {
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }

  std::string_view text_;
};

void TakeParameter(std::string_view name, std::string value, Challenge& challenge) {
  if (EqualsIgnoringCase(name, "error")) {
    challenge.error = std::move(value);
  } else if (EqualsIgnoringCase(name, "scope")) {
    challenge.scopes = SplitScopes(value);
  } else if (EqualsIgnoringCase(name, "resource_metadata")) {
    challenge.resource_metadata = std::move(value);
  }
}

}  // namespace

Challenge ReadChallenge(std::string_view header) {
  Challenge challenge;
  Scanner scanner(header);
  bool is_bearer = false;
  while (!scanner.AtEnd()) {
    const std::string_view word = scanner.Token();
    if (scanner.HasValue()) {
      std::string value = scanner.Value();
      if (is_bearer) TakeParameter(word, std::move(value), challenge);
    } else if (word.empty()) {
      scanner.Drop();  // a misplaced quote
    } else {
      is_bearer = EqualsIgnoringCase(word, "Bearer");
    }
  }
  return challenge;
}

Challenge ChallengeOf(const net::HttpHead& head) {
  std::string all;
  for (const auto& [name, value] : head.headers) {
    if (name == "www-authenticate") all += value + ", ";
  }
  return ReadChallenge(all);
}

std::vector<std::string> SplitScopes(std::string_view text) {
  std::vector<std::string> scopes;
  while (scopes.size() < kScopesMax) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    const size_t end = std::min(text.find(' '), text.size());
    AddScopes({std::string(text.substr(0, end))}, scopes);
    text.remove_prefix(end);
  }
  return scopes;
}

std::string JoinScopes(const std::vector<std::string>& scopes) {
  std::string text;
  for (const std::string& scope : scopes) text += (text.empty() ? "" : " ") + scope;
  return text;
}

void AddScopes(const std::vector<std::string>& more, std::vector<std::string>& scopes) {
  for (const std::string& scope : more) {
    if (scopes.size() == kScopesMax) return;
    if (std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) scopes.push_back(scope);
  }
}

}  // namespace agent_graph::tools::mcp::oauth
