#include <charconv>
#include <cmath>

#include "tools/local/builtin.h"

namespace agent_graph::tools {
namespace {

constexpr int kNestingMax = 100;
constexpr size_t kExpressionBytesMax = 4096;

// Recursive descent parser; the first error is kept and ends the parsing.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<double> Parse() {
    double value = Sum();
    SkipSpace();
    if (position_ < text_.size()) Fail("unexpected character");
    if (problem_.empty() && !std::isfinite(value)) Fail("the result is not a finite number");
    if (!problem_.empty()) return Status(StatusCode::kInvalidArgument, problem_);
    return value;
  }

 private:
  double Sum() {
    double value = Product();
    for (;;) {
      if (Take('+')) {
        value += Product();
      } else if (Take('-')) {
        value -= Product();
      } else {
        return value;
      }
    }
  }

  double Product() {
    double value = Signed();
    for (;;) {
      if (Take('*')) {
        value *= Signed();
      } else if (Take('/')) {
        value /= Divisor();
      } else if (Take('%')) {
        value = std::fmod(value, Divisor());
      } else {
        return value;
      }
    }
  }

  double Divisor() {
    double value = Signed();
    if (value == 0) Fail("division by zero");
    return value;
  }

  double Signed() {
    if (++nesting_ > kNestingMax) {
      Fail("nested too deeply");
      return 0;
    }
    double value = Take('-') ? -Signed() : Take('+') ? Signed() : Power();
    --nesting_;
    return value;
  }

  double Power() {
    double base = Operand();
    return Take('^') ? std::pow(base, Signed()) : base;
  }

  double Operand() {
    if (Take('(')) {
      double value = Sum();
      if (!Take(')')) Fail("missing )");
      return value;
    }
    SkipSpace();
    double value = 0;
    auto [end, error] =
        std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      Fail(position_ < text_.size() ? "a number is missing" : "the expression ends too early");
      return 0;
    }
    position_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  void SkipSpace() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
      ++position_;
    }
  }

  bool Take(char wanted) {
    SkipSpace();
    if (!problem_.empty() || position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void Fail(std::string_view problem) {
    if (!problem_.empty()) return;
    problem_ = std::string(problem) + " at position " + std::to_string(position_ + 1);
  }

  std::string_view text_;
  size_t position_ = 0;
  int nesting_ = 0;
  std::string problem_;
};

}  // namespace

Result<double> Calculate(std::string_view expression) {
  if (expression.size() > kExpressionBytesMax) {
    return Status(StatusCode::kInvalidArgument, "the expression is too long");
  }
  return Parser(expression).Parse();
}

}  // namespace agent_graph::tools
