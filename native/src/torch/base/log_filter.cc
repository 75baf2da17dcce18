// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/log_filter.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "torch/base/captured_errors.h"

namespace torchfeed {
namespace {

// as in libtorch's logging
constexpr int kInfo = 0;
constexpr int kWarning = 1;
constexpr int kError = 2;

int log_level() {
  const char* value = std::getenv("TORCH_CPP_LOG_LEVEL");
  std::string text = value == nullptr ? "" : value;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text == "INFO" || text == "0") {
    return kInfo;
  }
  return text == "WARNING" || text == "1" ? kWarning : kError;
}

/// Takes the place of a stream's buffer while a thread has a filter, and forwards its output. A
/// subclass keeps some of it back in the threads that have one.
class StreamFilter : public std::streambuf {
 public:
  explicit StreamFilter(std::ostream& stream) : stream_(stream) {}

  void install() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) {
      target_ = stream_.rdbuf();  // before another thread can write to this
      stream_.rdbuf(this);
    }
  }

  void remove() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0 && stream_.rdbuf() == this) {
      stream_.rdbuf(target_);
    }
  }

 protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      const char text = traits_type::to_char_type(c);
      xsputn(&text, 1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override { return target().pubsync(); }

  [[nodiscard]] std::streambuf& target() { return *target_; }

 private:
  std::ostream& stream_;
  std::mutex mutex_;
  std::atomic<std::streambuf*> target_{nullptr};
  int users_ = 0;  // threads that have a filter
};

/// Keeps back Gloo's lines about connected ranks.
class GlooLines final : public StreamFilter {
 public:
  GlooLines() : StreamFilter(std::cout) {}

  void begin() {
    if (depth_++ == 0) {
      install();
    }
  }

  void end() {
    if (--depth_ == 0) {
      release();
      remove();
    }
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    if (depth_ == 0) {
      return target().sputn(text, length);
    }
    std::string_view rest(text, static_cast<size_t>(length));
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      held_ += rest.substr(0, end);
      rest.remove_prefix(end);
      if (held_.compare(0, kBegin.size(), kBegin, 0, held_.size()) != 0) {
        release();
      } else if (held_.back() == '\n') {
        if (held_.find(" is connected to ") != std::string::npos) {
          held_.clear();
        }
        release();
      }
    }
    return length;
  }

  int sync() override {
    release();
    return StreamFilter::sync();
  }

 private:
  static constexpr std::string_view kBegin = "[Gloo] Rank ";

  void release() {
    target().sputn(held_.data(), static_cast<std::streamsize>(held_.size()));
    held_.clear();
  }

  static thread_local int depth_;
  static thread_local std::string held_;  // the beginning of a line that may be Gloo's
};

thread_local int GlooLines::depth_ = 0;
thread_local std::string GlooLines::held_;

/// Keeps back the warnings of libtorch's store about failures that it also throws, and the stack
/// traces of its errors, each of which is written at once; or everything, where it is captured.
class ErrorLines final : public StreamFilter {
 public:
  ErrorLines() : StreamFilter(std::cerr) {}

  void begin() {
    ++hiding_;
    enter();
  }

  void end() {
    leave();
    --hiding_;
  }

  /// Collects the output of this thread, and returns the text of an outer capture.
  std::string* capture(std::string* into) {
    enter();
    return std::exchange(captured_, into);
  }

  void end_capture(std::string* outer) {
    captured_ = outer;
    leave();
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    const std::string_view message(text, static_cast<size_t>(length));
    if (captured_ != nullptr) {
      captured_->append(message);
      return length;
    }
    const bool is_of_store =
        hiding_ > 0 &&
        message.substr(0, message.find('\n')).find("] [c10d] ") != std::string_view::npos;
    if (is_of_store && message.rfind("[W", 0) == 0) {
      return length;
    }
    const size_t trace = is_of_store ? message.find(kTrace) : std::string_view::npos;
    if (trace == std::string_view::npos) {
      return target().sputn(text, length);
    }
    target().sputn(text, static_cast<std::streamsize>(trace));
    target().sputc('\n');
    return length;
  }

 private:
  static constexpr std::string_view kTrace = "\nException raised from ";

  void enter() {
    if (depth_++ == 0) {
      install();
    }
  }

  void leave() {
    if (--depth_ == 0) {
      remove();
    }
  }

  static thread_local int depth_;   // filters and captures of the thread
  static thread_local int hiding_;  // filters alone
  static thread_local std::string* captured_;
};

thread_local int ErrorLines::depth_ = 0;
thread_local int ErrorLines::hiding_ = 0;
thread_local std::string* ErrorLines::captured_ = nullptr;

// Other threads may be writing to these at any time.
GlooLines& gloo_lines() {
  static auto* const kLines = new GlooLines();
  return *kLines;
}

ErrorLines& error_lines() {
  static auto* const kLines = new ErrorLines();
  return *kLines;
}

class WarningFilter final : public c10::WarningHandler {
 public:
  WarningFilter() : next_(c10::WarningUtils::get_warning_handler()) {}

  void process(const c10::Warning& warning) override {
    if (!std::holds_alternative<c10::DeprecationWarning>(warning.type()) &&
        warning.msg().find(" in beta") == std::string::npos) {
      next_->process(warning);
    }
  }

 private:
  c10::WarningHandler* const next_;
};

}  // namespace

class LogFilter::Impl {
 public:
  explicit Impl(int level) : hides_warnings_(level > kWarning), hides_lines_(level > kInfo) {
    if (hides_warnings_) {
      guard_.emplace(&warnings_);
      error_lines().begin();
    }
    if (hides_lines_) {
      gloo_lines().begin();
    }
  }
  ~Impl() {
    if (hides_lines_) {
      gloo_lines().end();
    }
    if (hides_warnings_) {
      error_lines().end();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  WarningFilter warnings_;
  std::optional<c10::WarningUtils::WarningHandlerGuard> guard_;
  const bool hides_warnings_;
  const bool hides_lines_;
};

LogFilter::LogFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LogFilter::~LogFilter() = default;

std::unique_ptr<LogFilter> LogFilter::create() {
  return std::unique_ptr<LogFilter>(new LogFilter(std::make_unique<Impl>(log_level())));
}

CapturedErrors::CapturedErrors() : outer_(error_lines().capture(&text_)) {}

CapturedErrors::~CapturedErrors() { error_lines().end_capture(outer_); }

}  // namespace torchfeed
