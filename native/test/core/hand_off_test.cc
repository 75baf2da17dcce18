// SPDX-License-Identifier: Apache-2.0
#include "core/hand_off.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

namespace torchfeed {
namespace {

constexpr std::chrono::milliseconds kUntilParked{30};

class HandOffs : public testing::TestWithParam<bool> {
 protected:
  /// Waits as a worker.
  void wait_for_work(const bool& over) {
    HandOff::Lock lock = hand_off_.lock();
    hand_off_.await_work(lock, [&] { return over; });
  }

  bool wait_for_result(const bool& over,
                       std::optional<HandOff::Clock::duration> limit = std::nullopt) {
    HandOff::Lock lock = hand_off_.lock();
    return hand_off_.await_result(lock, limit, [&] { return over; });
  }

  void set(bool& over) {
    const HandOff::Lock lock = hand_off_.lock();
    over = true;
  }

  template <class Signal>
  void set_and(bool& over, Signal signal) {
    const HandOff::Lock lock = hand_off_.lock();
    over = true;
    signal(hand_off_);
  }

  HandOff hand_off_{GetParam()};
  bool one_ = false;
  bool other_ = false;
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutAnIdleProcessor, HandOffs, testing::Bool());

TEST_P(HandOffs, AWaitThatIsAlreadyOverReturnsImmediately) {
  one_ = true;
  EXPECT_TRUE(wait_for_result(one_, std::chrono::seconds(0)));
  wait_for_work(one_);
}

TEST_P(HandOffs, APollingWaiterNeedsNoNotification) {
  std::thread worker([&] { wait_for_work(one_); });
  set(one_);
  worker.join();
}

TEST_P(HandOffs, AParkedWorkerIsNotifiedOfWork) {
  std::thread worker([&] { wait_for_work(one_); });
  std::this_thread::sleep_for(kUntilParked);
  set_and(one_, [](HandOff& hand_off) { hand_off.submitted(false); });
  worker.join();
}

TEST_P(HandOffs, AParkedConsumerIsNotifiedOfAResult) {
  std::thread consumer([&] { EXPECT_TRUE(wait_for_result(one_)); });
  std::this_thread::sleep_for(kUntilParked);
  set_and(one_, [](HandOff& hand_off) { hand_off.completed(); });
  consumer.join();
}

TEST_P(HandOffs, AllWaitersWhoseWaitIsOverAreNotified) {
  std::thread first([&] { wait_for_work(one_); });
  std::thread second([&] { wait_for_work(other_); });
  std::thread third([&] { wait_for_work(one_); });
  std::this_thread::sleep_for(kUntilParked);
  set_and(one_, [](HandOff& hand_off) { hand_off.submitted(false); });
  first.join();
  third.join();
  set_and(other_, [](HandOff& hand_off) { hand_off.interrupt(); });
  second.join();
}

TEST_P(HandOffs, AThreadAboutToWaitNotifiesTheOtherSide) {
  std::thread consumer([&] { EXPECT_TRUE(wait_for_result(one_)); });
  std::this_thread::sleep_for(kUntilParked);
  set(one_);
  std::thread worker([&] { wait_for_work(other_); });
  consumer.join();
  set_and(other_, [](HandOff& hand_off) { hand_off.interrupt(); });
  worker.join();
}

TEST_P(HandOffs, AWaitEndsAtItsLimit) {
  EXPECT_FALSE(wait_for_result(one_, std::chrono::microseconds(10)));
  EXPECT_FALSE(wait_for_result(one_, kUntilParked));
}

TEST_P(HandOffs, AWaitWithALimitIsEndedByANotification) {
  std::thread consumer([&] { EXPECT_TRUE(wait_for_result(one_, std::chrono::minutes(1))); });
  std::this_thread::sleep_for(kUntilParked);
  set_and(one_, [](HandOff& hand_off) { hand_off.interrupt(); });
  consumer.join();
}

}  // namespace
}  // namespace torchfeed
