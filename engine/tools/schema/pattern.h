// Regular expressions of JSON Schema (ECMA-262 as far as PCRE2 supports it). Matching is bounded,
// so that a pattern with catastrophic backtracking does not block an engine thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace agent_graph::tools {

inline constexpr size_t kPatternBytesMax = 4096;

// Immutable and thread-safe.
class Pattern {
 public:
  // Returns null if the pattern cannot be compiled.
  static std::unique_ptr<const Pattern> Compile(const std::string& text);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // True if the pattern matches anywhere in `text`; nullopt if matching takes too long.
  std::optional<bool> Matches(std::string_view text) const;

  size_t compiled_bytes() const;

 private:
  explicit Pattern(pcre2_real_code_8* code) : code_(code) {}

  pcre2_real_code_8* const code_;
};

}  // namespace agent_graph::tools
