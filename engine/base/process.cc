#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

namespace agent_graph {
namespace {

constexpr uint64_t kEnded = 0;

// nullopt if the time cannot be read, for example because no descriptor is free.
std::optional<uint64_t> LookUpStartTime(int64_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT || errno == ESRCH ? std::optional(kEnded) : std::nullopt;
  char text[1024];
  ssize_t length = read(file, text, sizeof text - 1);
  const int failure = errno;
  close(file);
  if (length < 0) return failure == ESRCH ? std::optional(kEnded) : std::nullopt;
  text[length] = '\0';
  // The second field is the program's name in parentheses and may contain any character. The third
  // field is the state, the twenty-second the start time.
  const char* field = std::strrchr(text, ')');
  if (field == nullptr || field[1] == '\0') return std::nullopt;
  if (field[2] == 'Z' || field[2] == 'X') return kEnded;
  constexpr int kFieldsFromNameToStart = 20;
  for (int i = 0; i < kFieldsFromNameToStart && field != nullptr; ++i) {
    field = std::strchr(field + 1, ' ');
  }
  if (field == nullptr) return std::nullopt;
  return std::strtoull(field + 1, nullptr, 10);
}

}  // namespace

uint64_t ProcessStartTime(int64_t process) {
  return LookUpStartTime(process).value_or(kEnded);
}

bool ProcessEnded(int64_t process, uint64_t start_time) {
  return LookUpStartTime(process).value_or(start_time) != start_time;
}

}  // namespace agent_graph
