#include "base/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace agent_graph {

uint64_t ProcessStartTime(int64_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The second field is the program's name in parentheses and may hold anything; the state is the
  // third field and the start time the twenty-second.
  const char* field = std::strrchr(text, ')');
  if (field == nullptr || field[1] == '\0' || field[2] == 'Z' || field[2] == 'X') return 0;
  constexpr int kFieldsFromNameToStart = 20;
  for (int i = 0; i < kFieldsFromNameToStart && field != nullptr; ++i) {
    field = std::strchr(field + 1, ' ');
  }
  return field == nullptr ? 0 : std::strtoull(field + 1, nullptr, 10);
}

}  // namespace agent_graph
