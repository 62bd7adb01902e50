// The text in documents, read by another program: documents are hostile.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/io_pool.h"

namespace agent_graph::media {

// What the program calls the format of such a file; empty: no text is read from it.
std::string_view FormatOf(std::string_view mime_type, std::string_view filename);

// Thread-safe.
class Extractor {
 public:
  // `program`: the path of agent-extract.
  explicit Extractor(std::string program);
  ~Extractor();

  // Suspends the calling fiber. Nothing when the document cannot be read, takes too long, is of no
  // known format, or had to wait for its turn too long. `file` is read from its beginning; its own
  // position does not matter.
  std::optional<std::string> Extract(int file, std::string_view format);

 private:
  const std::string program_;
  runtime::IoPool pool_;  // as many documents at a time
};

}  // namespace agent_graph::media
