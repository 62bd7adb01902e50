// The text in documents, read by another program: documents are hostile.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "media/document_turns.h"
#include "runtime/cancellation.h"

namespace agent_graph::process {
class Launcher;
class Process;
}  // namespace agent_graph::process

namespace agent_graph::media {

// What the program calls the format of such a file; empty: no text is read from it.
std::string_view FormatOf(std::string_view mime_type, std::string_view filename);

// Thread-safe.
class Extractor {
 public:
  using LogFunction = std::function<void(const std::string& line)>;

  // `program`: the path of agent-extract, which `launcher` starts. `log` is told once when it
  // cannot be started.
  Extractor(std::string program, std::shared_ptr<const process::Launcher> launcher,
            LogFunction log);
  ~Extractor();

  // Suspends the calling fiber. Nothing when the document cannot be read, takes too long, is of no
  // known format, or had to wait for its turn too long. `file` is read from its beginning; its own
  // position does not matter. The turn counts for `user` (see DocumentTurns).
  std::optional<std::string> Extract(int file, std::string_view format, const std::string& user);

 private:
  Result<std::unique_ptr<process::Process>> StartProgram(int file, std::string_view format,
                                                         Deadline deadline);
  // All that it writes, or somewhat more than is wanted.
  Result<std::string> RunProgram(int file, std::string_view format);

  const std::string program_;
  const std::shared_ptr<const process::Launcher> launcher_;
  const LogFunction log_;
  const runtime::Cancellation never_;

  std::atomic<bool> told_ = false;
  DocumentTurns turns_;
};

}  // namespace agent_graph::media
