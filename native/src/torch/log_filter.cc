// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/log_filter.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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

/// Passes on what is written to it, except for Gloo's lines in a thread that has a filter.
class GlooLines final : public std::streambuf {
 public:
  void begin() {
    if (depth_++ == 0) {
      const std::lock_guard lock(mutex_);
      if (users_++ == 0) {
        target_ = std::cout.rdbuf(this);
      }
    }
  }

  void end() {
    if (--depth_ == 0) {
      release();
      const std::lock_guard lock(mutex_);
      if (--users_ == 0 && std::cout.rdbuf() == this) {
        std::cout.rdbuf(target_);
      }
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

  std::streamsize xsputn(const char* text, std::streamsize length) override {
    if (depth_ == 0) {
      return target_->sputn(text, length);
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
    return target_->pubsync();
  }

 private:
  static constexpr std::string_view kBegin = "[Gloo] Rank ";

  void release() {
    target_->sputn(held_.data(), static_cast<std::streamsize>(held_.size()));
    held_.clear();
  }

  std::mutex mutex_;
  std::streambuf* target_ = nullptr;
  int users_ = 0;  // threads that have a filter
  static thread_local int depth_;
  static thread_local std::string held_;  // the beginning of a line that may be Gloo's
};

thread_local int GlooLines::depth_ = 0;
thread_local std::string GlooLines::held_;

GlooLines& gloo_lines() {
  static auto* const kLines = new GlooLines();  // other threads may be writing to it at any time
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
  explicit Impl(int level) : hides_lines_(level > kInfo) {
    if (level > kWarning) {
      guard_.emplace(&warnings_);
    }
    if (hides_lines_) {
      gloo_lines().begin();
    }
  }
  ~Impl() {
    if (hides_lines_) {
      gloo_lines().end();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  WarningFilter warnings_;
  std::optional<c10::WarningUtils::WarningHandlerGuard> guard_;
  const bool hides_lines_;
};

LogFilter::LogFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LogFilter::~LogFilter() = default;

std::unique_ptr<LogFilter> LogFilter::create() {
  return std::unique_ptr<LogFilter>(new LogFilter(std::make_unique<Impl>(log_level())));
}

}  // namespace torchfeed
