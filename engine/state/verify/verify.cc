#include "state/verify/verify.h"

#include "base/hex.h"
#include "state/verify/faults.h"

namespace agent_graph::state {
namespace {

std::string Readable(std::string_view key) {
  std::string text;
  for (char c : key.substr(0, 64)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text.push_back(c);
    } else {
      text += "\\x";
      AppendHex(byte, text);
    }
  }
  return text;
}

// True for a counter that the database keeps in a sequence instead of a row, because several hosts
// write it.
bool IsSequence(const Database& database, std::string_view key) {
  return !database.instance().empty() &&
         (key == keys::Meta(kNextThreadName) || key == keys::Meta(kNextMemoryName));
}

}  // namespace

Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping) {
  VerifyReport report;
  const DatabaseSnapshot snapshot(database);
  AG_ASSIGN_OR_RETURN(const RowsSeen seen, FindFaults(snapshot, stopping, [&](const Fault& fault) {
                        if (IsSequence(database, fault.key)) return;
                        if (report.problem_count++ < VerifyReport::kProblemsMax) {
                          report.problems.push_back(Readable(fault.key) + ": " + fault.what);
                        }
                      }));
  report.rows = seen.rows;
  report.threads = seen.threads;
  report.memories = seen.memories;
  return report;
}

}  // namespace agent_graph::state
