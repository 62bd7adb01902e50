// The multipart parser: its output must not depend on how the input is cut.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "multipart/parser.h"

namespace {

using agent_graph::multipart::Parser;

// A trace of the events, with the data of each part joined.
std::string Trace(std::string_view text, size_t size) {
  Parser parser("b");
  std::string trace;
  for (;;) {
    switch (parser.Next()) {
      case Parser::Event::kNeedMore:
        if (text.empty()) return trace + "|cut";
        parser.Feed(text.substr(0, size));
        text.remove_prefix(std::min(size, text.size()));
        break;
      case Parser::Event::kPart:
        trace += "|part " + parser.part().name + "," + parser.part().filename.value_or("-") + "|";
        break;
      case Parser::Event::kData:
        if (parser.data().empty()) abort();
        trace += parser.data();
        break;
      case Parser::Event::kPartEnd:
        trace += "|end";
        break;
      case Parser::Event::kEnd:
        return trace + "|done";
      case Parser::Event::kError:
        return trace + "|error";
    }
  }
}

// The amount of data that was output for an unfinished part may differ.
bool Finished(const std::string& trace) {
  return trace.ends_with("|done") || trace.ends_with("|error");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string whole = Trace(text, size + 1);
  std::string single = Trace(text, 1);
  if (Finished(whole) != Finished(single)) abort();
  if (whole.ends_with("|done") && whole != single) abort();
  agent_graph::multipart::BoundaryOf(text);
  return 0;
}
