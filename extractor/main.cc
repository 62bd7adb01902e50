// agent-extract FORMAT   Reads a document from standard input, which must be a file, and writes its
// text to standard output, followed by a NUL and "ok". Any other output means that no text could be
// read.
//
// A child process with little memory and time reads the document. Whatever happens to the child,
// this process exits normally. Neither process outlives the time limit.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/version.h"
#include "extract/text.h"

namespace {

namespace extract = agent_graph::extract;

constexpr char kInput[] = "/proc/self/fd/0";
constexpr unsigned kSecondsMax = 15;
constexpr rlim_t kProcessorSecondsMax = 10;
constexpr rlim_t kMemoryBytesMax = rlim_t{512} * 1024 * 1024;
constexpr rlim_t kFilesMax = 32;

pid_t child = -1;

void GiveUp(int) {
  kill(child, SIGKILL);
  _exit(0);
}

void Limit(int resource, rlim_t value) {
  rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

// Limits the resources of the child, whatever the document contains.
void LimitSelf(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  Limit(RLIMIT_CPU, kProcessorSecondsMax);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Limit(RLIMIT_AS, kMemoryBytesMax);  // a sanitizer's shadow memory needs more
#endif
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, 0);
  Limit(RLIMIT_NOFILE, kFilesMax);
}

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::optional<std::string> ReadInput() {
  struct stat info{};
  if (fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got =
        pread(STDIN_FILENO, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return bytes;
}

std::optional<std::string> Extract(std::string_view format) {
  if (format == "docx") return extract::WordText(kInput);
  if (format == "pptx") return extract::PresentationText(kInput);
  if (format == "xlsx") return extract::SheetText(kInput);
  if (format == "odf") return extract::OpenDocumentText(kInput);
  std::optional<std::string> bytes = ReadInput();
  if (!bytes) return std::nullopt;
  if (format == "plain") return extract::PlainText(*bytes);
  if (format == "html") return extract::HtmlText(*bytes);
  if (format == "xml") return extract::XmlText(*bytes);
  return std::nullopt;
}

// Runs in the child: the exit status reports whether the text is complete.
[[noreturn]] void RunChild(std::string_view format, pid_t parent) {
  LimitSelf(parent);
  if (format == "pdf") {
    // Replaces the process image: a crash of pdftotext does not affect us.
    execlp("pdftotext", "pdftotext", "-q", "-enc", "UTF-8", "-nopgbrk", "-l", "2000", kInput, "-",
           nullptr);
    _exit(1);
  }
  try {
    std::optional<std::string> text = Extract(format);
    _exit(text && WriteAll(*text) ? 0 : 1);
  } catch (const std::exception&) {
    _exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  const bool help = argument == "--help" || argument == "-h";
  // Formats are plain words.
  const bool other_option = argument.starts_with('-') && argument != "--version";
  if (argument.empty() || help || other_option) {
    std::fputs("usage: agent-extract FORMAT | --help | --version; it is started by nginx\n",
               help ? stdout : stderr);
    return help ? 0 : 2;
  }
  if (argument == "--version") {
    std::printf("agent-extract %s\n", agent_graph::kVersion);
    return 0;
  }
  signal(SIGPIPE, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  // Messages of libraries are useless here, and stderr may have no reader.
  const int nothing = open("/dev/null", O_WRONLY);
  if (nothing < 0 || dup2(nothing, STDERR_FILENO) < 0) return 1;
  const pid_t self = getpid();
  child = fork();
  if (child < 0) return 1;
  if (child == 0) RunChild(argv[1], self);
  signal(SIGALRM, GiveUp);
  alarm(kSecondsMax);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 1;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    WriteAll(std::string_view("\0ok", 3));
  }
  return 0;
}
