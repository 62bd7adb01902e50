#include "state/postgres/cluster/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/file_content.h"
#include "base/file_descriptor.h"

namespace agent_graph::state::postgres {
namespace {

constexpr size_t kIdDigits = 32;
constexpr int64_t kIdentityBytesMax = 256;

// Changes with each start of the machine. Empty if it is not known.
std::string BootId() {
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t length = file ? read(file.get(), text, sizeof(text)) : 0;
  std::string id(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

Status CannotWrite(const std::string& path) {
  return Unavailable(path + " cannot be written: " + ErrnoText(errno));
}

}  // namespace

std::string ReadIdentity(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return "";
  const Result<std::string> content = ReadFileContent(file.get(), kIdentityBytesMax);
  const std::string boot = BootId();
  if (!content.ok() || boot.empty()) return "";
  // "<id> <boot id>\n"
  const std::string rest = " " + boot + "\n";
  if (content->size() != kIdDigits + rest.size() || !content->ends_with(rest)) return "";
  return content->substr(0, kIdDigits);
}

Status WriteIdentity(const std::string& path, const std::string& id) {
  // The file is written under another name and renamed, so that no reader finds a part of it. Not
  // synced: it does not survive a reboot anyway.
  const std::string temporary = path + ".new";
  const FileDescriptor file(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return CannotWrite(temporary);
  const std::string content = id + " " + BootId() + "\n";
  if (write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    return CannotWrite(path);
  }
  return Status::Ok();
}

void RemoveIdentity(const std::string& path) {
  unlink(path.c_str());
}

}  // namespace agent_graph::state::postgres
