// Extracts the text of documents in another program, because documents may be malicious.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "media/document_turns.h"
#include "runtime/cancellation.h"

namespace agent_graph::process {
class Launcher;
class Process;
}  // namespace agent_graph::process

namespace agent_graph::media {

// The format name for the program; empty: no text is extracted from such files.
std::string_view FormatOf(std::string_view mime_type, std::string_view filename);

// Thread-safe. The calls suspend the calling fiber.
class Extractor {
 public:
  using LogFunction = std::function<void(const std::string& line)>;

  // For how long a start is tried again while there is no spawner, or it runs too many programs.
  static constexpr std::chrono::milliseconds kStartTimeout{10'000};

  // `program`: the path of agent-extract, which `launcher` starts. `log` is called, at most once a
  // minute, if a document is stored without its text for a reason that is not the document's.
  Extractor(std::string program, std::shared_ptr<const process::Launcher> launcher, LogFunction log,
            std::chrono::milliseconds start_timeout = kStartTimeout);
  ~Extractor();

  // Suspends the calling fiber. nullopt if the document cannot be read, takes too long, has an
  // unknown format or waited too long for its turn. Reads `file` from its beginning, whatever its
  // position. The turn counts for `user` (see DocumentTurns).
  std::optional<std::string> Extract(int file, std::string_view format, const std::string& user);

 private:
  Result<std::unique_ptr<process::Process>> StartProgram(int file, std::string_view format,
                                                         Deadline deadline);
  // The complete output, or slightly more than the maximum.
  Result<std::string> RunProgram(int file, std::string_view format);
  void Report(const Status& failure);

  const std::string program_;
  const std::shared_ptr<const process::Launcher> launcher_;
  const LogFunction log_;
  const runtime::Cancellation never_;

  const std::chrono::milliseconds start_timeout_;
  DocumentTurns turns_;

  Mutex mutex_;
  Deadline next_report_ AG_GUARDED_BY(mutex_) = Deadline::min();
};

}  // namespace agent_graph::media
