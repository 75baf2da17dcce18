// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.distributed.membership.Member.Doing;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The members of a job by their activity. Each message of a member costs the same however many
 * there are: with thousands of them, a look at all for each one's message would take minutes.
 */
final class MemberTable {
  private final Map<Long, Member> byId = new LinkedHashMap<>();
  private final Map<Doing, Set<Member>> byDoing = new EnumMap<>(Doing.class);
  private boolean isAgreed;
  private int answers;

  MemberTable() {
    for (Doing each : Doing.values()) {
      byDoing.put(each, new LinkedHashSet<>());
    }
  }

  void add(Member member) {
    byId.put(member.id, member);
    of(member.doing).add(member);
  }

  @Nullable Member remove(long id) {
    Member member = byId.remove(id);
    if (member != null) {
      of(member.doing).remove(member);
    }
    return member;
  }

  @Nullable Member get(long id) {
    return byId.get(id);
  }

  Collection<Member> all() {
    return Collections.unmodifiableCollection(byId.values());
  }

  void set(Member member, Doing doing) {
    of(member.doing).remove(member);
    member.doing = doing;
    of(doing).add(member);
  }

  private Set<Member> of(Doing doing) {
    return byDoing.getOrDefault(doing, Set.of());
  }

  int count(Doing doing) {
    return of(doing).size();
  }

  Stream<Member> stream(Doing doing) {
    return of(doing).stream();
  }

  /** Returns a copy of the members of the current generation. */
  List<Member> ofGeneration() {
    return Stream.concat(stream(Doing.TRAINING), stream(Doing.DONE)).toList();
  }

  int generationSize() {
    return count(Doing.TRAINING) + count(Doing.DONE);
  }

  /** Begins to ask the members of the generation for the steps that they have completed. */
  void ask() {
    isAgreed = false;
    answers = 0;
    ofGeneration().forEach(each -> each.at = OptionalLong.empty());
  }

  void answered(Member member, long completed) {
    answers += member.at.isEmpty() ? 1 : 0;
    member.at = OptionalLong.of(completed);
  }

  /**
   * Returns the last step of the generation, once, when all members have answered. No member has
   * begun the step after the next since then, so all reach the step after the furthest one's.
   */
  OptionalLong lastStep() {
    if (isAgreed || answers < generationSize()) {
      return OptionalLong.empty();
    }
    List<Member> training = ofGeneration();
    if (training.isEmpty() || training.stream().anyMatch(each -> each.at.isEmpty())) {
      return OptionalLong.empty();
    }
    isAgreed = true;
    return OptionalLong.of(
        1 + training.stream().mapToLong(each -> each.at.getAsLong()).max().getAsLong());
  }
}
