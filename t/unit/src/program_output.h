// The output of a program whose main function runs in the process of the test.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace agent_graph {

struct ProgramOutput {
  int code = -1;
  std::string out;
  std::string err;
};

// A stream whose bytes are kept in memory.
class MemoryStream {
 public:
  MemoryStream() : file_(open_memstream(&bytes_, &size_)) {}
  ~MemoryStream() {
    std::fclose(file_);
    std::free(bytes_);
  }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {bytes_, size_};
  }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
  std::FILE* const file_;
};

}  // namespace agent_graph
