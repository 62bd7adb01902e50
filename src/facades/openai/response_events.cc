#include "facades/openai/response_events.h"

#include <charconv>

#include "base/json.h"

namespace agent_graph::openai {
namespace {

constexpr std::string_view kEnd = "}\n\n";

}  // namespace

bool ResponseEvents::Begin(std::string_view type) {
  const int64_t number = next_number_++;
  if (number <= after_) return false;
  char digits[20];
  out_ += "event: ";
  out_ += type;
  out_ += "\ndata: {\"type\":\"";
  out_ += type;
  out_ += "\",\"sequence_number\":";
  out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  return true;
}

void ResponseEvents::Add(std::string_view type, std::string_view members) {
  if (!Begin(type)) return;
  out_ += members;
  out_ += kEnd;
}

void ResponseEvents::AddDelta(std::string_view type, std::string_view first, std::string_view piece,
                              std::string_view last) {
  if (!Begin(type)) return;
  out_ += first;
  out_ += ",\"delta\":";
  AppendJsonString(out_, piece);
  out_ += last;
  out_ += kEnd;
}

}  // namespace agent_graph::openai
