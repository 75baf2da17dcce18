// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.LoggedTexts;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests how ranks close their membership: as planned, or as one whose program forgot the end. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForgottenFinishTest extends MembershipFixture {
  private static final String TEXT =
      "its program closed the membership without finish(), leave() or fail(reason)";

  @Test
  void aRankThatClosesInAGenerationSaysThatItForgotTheEnd() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    List<Membership> members = together(coordinator, "a", "b");
    try (LoggedTexts log = new LoggedTexts("io.torchfeed.distributed")) {
      members.get(1).close();
      members.get(1).close();
      assertThat(log.all()).containsExactly("the other ranks lose this one: " + TEXT);
    }
    CoordinatorEvent event = events.take();
    while (event.kind() != CoordinatorEvent.Kind.LOST) {
      event = events.take();
    }
    assertThat(event.text()).isEqualTo("rank 1 (b) was lost: " + TEXT);
    awaitEvent(CoordinatorEvent.Kind.BROKEN);
    assertThat(next(members.get(0), "").get().size()).isEqualTo(1);
  }

  @Test
  void ranksThatHaveLeftFailedOrFinishedOrAreInNoGenerationCloseInSilence() throws Exception {
    try (LoggedTexts log = new LoggedTexts("io.torchfeed.distributed")) {
      Coordinator coordinator = listen(ranks(1, 3));
      List<Membership> members = together(coordinator, "a", "b", "c");
      members.get(0).leave();
      members.get(1).fail("a fault");
      Membership fresh = join(coordinator, "fresh");
      fresh.close();
      next(members.get(2), "a rank was lost").get();
      Future<?> finished =
          start(
              () -> {
                members.get(2).finish();
                return null;
              });
      finished.get();
      members.forEach(Membership::close);
      assertThat(log.all()).isEmpty();
    }
  }
}
