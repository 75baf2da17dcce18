// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.trace.ring.Event;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Who waited for whom: in each call in which all ranks meet, the time from the arrival of each rank
 * until the last one arrives is charged to the last one.
 */
final class Waits {
  /**
   * A rank as its dump knows it.
   *
   * @param dump the index of the dump
   */
  record Member(int dump, int rank) {}

  /** The time for which others waited for a rank, in nanoseconds. */
  static final class Account {
    private final Member member;
    private long charged;
    private long steps;
    private long longest;
    private long longestStep = -1;
    private String longestCall = "";

    Account(Member member) {
      this.member = member;
    }

    Member member() {
      return member;
    }

    /** Returns the sum over the other ranks. */
    long charged() {
      return charged;
    }

    /** Returns the number of steps in which this rank was charged most. */
    long steps() {
      return steps;
    }

    /** Returns the longest time from the first rank's arrival to this one's. */
    long longest() {
      return longest;
    }

    /** Returns the step of that, or -1. */
    long longestStep() {
      return longestStep;
    }

    String longestCall() {
      return longestCall;
    }
  }

  private final Dumps dumps;
  private final Clocks clocks;
  private final Map<Member, Account> accounts = new HashMap<>();
  private final Map<Long, Map<Account, Long>> steps = new TreeMap<>();
  private long calls;
  private long total;

  Waits(Dumps dumps, Clocks clocks) {
    this.dumps = dumps;
    this.clocks = clocks;
    for (GroupCalls group : dumps.groups().values()) {
      for (long number = group.first(); group.ranks() > 1 && number < group.end(); number++) {
        if (group.isMeeting(number, Event.MEETS)) {
          add(group.attendances(), number);
        }
      }
    }
    for (Map<Account, Long> step : steps.values()) {
      slowest(step).getKey().steps++;
    }
  }

  private static Map.Entry<Account, Long> slowest(Map<Account, Long> step) {
    return step.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow();
  }

  private void add(List<Attendance> all, long number) {
    Attendance last = all.get(0);
    long latest = Long.MIN_VALUE;
    long earliest = Long.MAX_VALUE;
    for (Attendance each : all) {
      long arrived = clocks.time(each.dump(), each.arrived(number));
      earliest = Math.min(earliest, arrived);
      if (arrived > latest) {
        latest = arrived;
        last = each;
      }
    }
    long charged = 0;
    for (Attendance each : all) {
      charged += latest - clocks.time(each.dump(), each.arrived(number));
    }
    calls++;
    total += charged;
    Account account =
        accounts.computeIfAbsent(new Member(last.dump(), last.worldRank()), Account::new);
    account.charged += charged;
    long step = last.step(number);
    if (latest - earliest > account.longest) {
      account.longest = latest - earliest;
      account.longestStep = step;
      account.longestCall = dumps.all().get(last.dump()).name(last.name(number));
    }
    if (step >= 0) {
      steps.computeIfAbsent(step, any -> new HashMap<>()).merge(account, charged, Long::sum);
    }
  }

  /** Returns the ranks for which others waited, by their time, longest first. */
  List<Account> accounts() {
    return accounts.values().stream()
        .sorted(Comparator.comparingLong(Account::charged).reversed())
        .toList();
  }

  /** Returns the number of calls in which all ranks met. */
  long calls() {
    return calls;
  }

  /** Returns the time that all ranks waited, in nanoseconds. */
  long total() {
    return total;
  }

  /** Returns the number of steps with such calls. */
  long steps() {
    return steps.size();
  }

  /**
   * A step, with the rank that was charged most.
   *
   * @param nanos for which the others waited for it, in sum
   */
  record SlowStep(long step, Member member, long nanos) {}

  /** Returns the steps with the most waiting, longest first. */
  List<SlowStep> slowest(int most) {
    return steps.entrySet().stream()
        .map(
            step -> {
              Map.Entry<Account, Long> slowest = slowest(step.getValue());
              return new SlowStep(step.getKey(), slowest.getKey().member, slowest.getValue());
            })
        .sorted(Comparator.comparingLong(SlowStep::nanos).reversed())
        .limit(most)
        .toList();
  }
}
