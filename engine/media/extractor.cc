#include "media/extractor.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "media/mime.h"
#include "media/record.h"

namespace agent_graph::media {
namespace {

constexpr size_t kDocumentsMax = 2;  // at a time
// The program ends itself before that.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::seconds kTurnMax{30};
constexpr std::string_view kTrailer("\0ok", 3);

struct KnownFormat {
  std::string_view type;
  std::string_view format;
};
constexpr KnownFormat kFormats[] = {
    {"application/pdf", "pdf"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
    {"application/vnd.oasis.opendocument.text", "odf"},
    {"application/vnd.oasis.opendocument.spreadsheet", "odf"},
    {"application/vnd.oasis.opendocument.presentation", "odf"},
    {"text/html", "html"},
    {"application/xhtml+xml", "html"},
    {"text/xml", "xml"},
    {"application/xml", "xml"},
    {"text/markdown", "plain"},
    {"text/x-markdown", "plain"},
    {"text/csv", "plain"},
    {"application/json", "plain"},
    {"text/plain", "plain"},
};

// Runs in a copy of this process between clone and exec: system calls only.
[[noreturn]] void BecomeProgram(const char* program, const char* format, int input, int output) {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &plain, nullptr);
  sigaction(SIGCHLD, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();
  // Above the standard ones, so that none is overwritten before it was used.
  const int safe_input = fcntl(input, F_DUPFD, 3);
  const int safe_output = fcntl(output, F_DUPFD, 3);
  const int nothing = open("/dev/null", O_WRONLY);
  if (safe_input < 0 || safe_output < 0 || nothing < 0) _exit(127);
  if (dup2(safe_input, 0) < 0 || dup2(safe_output, 1) < 0 || dup2(nothing, 2) < 0) _exit(127);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char* const environment[] = {path, nullptr};
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(format), nullptr};
  execve(program, arguments, environment);
  _exit(127);
}

// Starts the program as nobody's child of ours: nginx collects every child of a worker, and would
// report this one. The child in between has no exit signal, so nginx never sees it.
bool Start(const char* program, const char* format, int input, int output) {
  const pid_t self = static_cast<pid_t>(syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
  if (self < 0) return false;
  if (self == 0) {
    const long grandchild =
        syscall(SYS_clone, static_cast<unsigned long>(SIGCHLD), nullptr, nullptr, nullptr, 0UL);
    if (grandchild == 0) BecomeProgram(program, format, input, output);
    _exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  while (waitpid(self, &status, __WCLONE) < 0) {
    if (errno != EINTR) return false;
  }
  return status == 0;
}

// Everything up to the end of the pipe, or as much as is wanted.
std::string ReadUntil(int pipe, Deadline deadline) {
  std::string bytes;
  char piece[8 * 1024];
  for (;;) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - MonotonicClock::now());
    if (left.count() <= 0) return {};
    pollfd wait{pipe, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return {};
    const ssize_t got = read(pipe, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? bytes : std::string();
    bytes.append(piece, static_cast<size_t>(got));
    if (bytes.size() > kExtractedTextBytesMax + kTrailer.size()) return bytes;
  }
}

std::optional<std::string> TextOf(std::string output) {
  if (output.size() > kExtractedTextBytesMax + kTrailer.size()) {
    size_t end = kExtractedTextBytesMax;
    while (end > 0 && (static_cast<unsigned char>(output[end]) & 0xc0) == 0x80) --end;
    output.resize(end);
  } else {
    if (!output.ends_with(kTrailer)) return std::nullopt;
    output.resize(output.size() - kTrailer.size());
  }
  constexpr std::string_view kBlank = " \t\r\n\f";
  const size_t last = output.find_last_not_of(kBlank);
  if (last == std::string::npos) return std::nullopt;  // pictures only
  output.resize(last + 1);
  return output;
}

std::optional<std::string> Run(const std::string& program, int file, const std::string& format) {
  // Opened again: the program gets no writable descriptor and a position of its own.
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  FileDescriptor input(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!input || pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const Deadline deadline = DeadlineAfter(kPatience);
  if (!Start(program.c_str(), format.c_str(), input.get(), writing.get())) return std::nullopt;
  writing.Reset();
  return TextOf(ReadUntil(reading.get(), deadline));
}

}  // namespace

std::string_view FormatOf(std::string_view mime_type, std::string_view filename) {
  std::string type = Essence(mime_type);
  if (type.empty() || type == "application/octet-stream") type = TypeOfName(filename);
  for (const KnownFormat& known : kFormats) {
    if (known.type == type) return known.format;
  }
  return {};
}

Extractor::Extractor(std::string program)
    : program_(std::move(program)), pool_(kDocumentsMax, "extract", [] {}) {}

Extractor::~Extractor() = default;

std::optional<std::string> Extractor::Extract(int file, std::string_view format) {
  if (format.empty() || program_.empty()) return std::nullopt;
  std::optional<std::string> text;
  // Documents that take long must not make others wait without end.
  const Deadline turn = DeadlineAfter(kTurnMax);
  pool_.Run([&] {
    if (MonotonicClock::now() < turn) text = Run(program_, file, std::string(format));
  });
  return text;
}

}  // namespace agent_graph::media
