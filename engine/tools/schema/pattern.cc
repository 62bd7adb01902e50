#include "tools/schema/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace agent_graph::tools {
namespace {

constexpr uint32_t kMatchStepsMax = 10'000;  // a step takes about 10 ns
constexpr uint32_t kHeapKibMax = 1024;       // per match
constexpr uint32_t kNestedGroupsMax = 32;    // compiling recurses on a fiber's stack

// One per process; never freed. It holds the limits for compiling; a match context holds those for
// matching.
pcre2_compile_context* CompileContext() {
  static pcre2_compile_context* const kContext = [] {
    pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
    if (context != nullptr) pcre2_set_parens_nest_limit(context, kNestedGroupsMax);
    return context;
  }();
  return kContext;
}

pcre2_match_context* MatchContext() {
  static pcre2_match_context* const kContext = [] {
    pcre2_match_context* context = pcre2_match_context_create(nullptr);
    if (context != nullptr) {
      pcre2_set_match_limit(context, kMatchStepsMax);
      pcre2_set_depth_limit(context, kMatchStepsMax);
      pcre2_set_heap_limit(context, kHeapKibMax);
    }
    return context;
  }();
  return kContext;
}

}  // namespace

std::unique_ptr<const Pattern> Pattern::Compile(const std::string& text) {
  if (text.size() > kPatternBytesMax || CompileContext() == nullptr) return nullptr;
  int error = 0;
  PCRE2_SIZE offset = 0;
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                                PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |
                                PCRE2_NEVER_BACKSLASH_C;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), kOptions,
                                   &error, &offset, CompileContext());
  return code == nullptr ? nullptr : std::unique_ptr<const Pattern>(new Pattern(code));
}

Pattern::~Pattern() {
  pcre2_code_free(code_);
}

size_t Pattern::compiled_bytes() const {
  size_t bytes = 0;
  return pcre2_pattern_info(code_, PCRE2_INFO_SIZE, &bytes) == 0 ? bytes : 0;
}

std::optional<bool> Pattern::Matches(std::string_view text) const {
  pcre2_match_context* context = MatchContext();
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  if (context == nullptr || data == nullptr) return std::nullopt;
  const int result = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                 0, data, context);
  pcre2_match_data_free(data);
  if (result >= 0) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  return std::nullopt;
}

}  // namespace agent_graph::tools
