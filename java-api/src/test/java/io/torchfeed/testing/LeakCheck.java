// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.torchfeed;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An extension, registered for all tests, that fails a test which leaks native objects. Each test
 * runs in a {@link PointerScope}, so objects of the presets need not be closed, whereas torchfeed's
 * are created outside of scopes and must be.
 */
public final class LeakCheck implements BeforeEachCallback, AfterEachCallback {
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(LeakCheck.class);

  /**
   * Time for calls of other threads, which keep what they use: the abort of a group that its owner
   * closes meanwhile, and a call of a store that was abandoned, which ends once the store's process
   * has.
   */
  private static final Duration OTHER_CALLS = Duration.ofSeconds(5);

  private record Before(PointerScope scope, long pointers, long objects) {}

  @Override
  public void beforeEach(ExtensionContext context) {
    long objects = torchfeed.live_objects();
    long pointers = Pointer.totalCount();
    context.getStore(NAMESPACE).put("before", new Before(new PointerScope(), pointers, objects));
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Before before = context.getStore(NAMESPACE).remove("before", Before.class);
    before.scope().close();
    await(() -> torchfeed.live_objects() <= before.objects());
    assertThat(torchfeed.live_objects())
        .as("facade objects left")
        .isLessThanOrEqualTo(before.objects()); // less: others freed theirs meanwhile
    await(() -> Pointer.totalCount() <= before.pointers());
    assertThat(Pointer.totalCount()).as("pointers left").isLessThanOrEqualTo(before.pointers());
  }

  private static void await(BooleanSupplier isDone) {
    long start = System.nanoTime();
    while (!isDone.getAsBoolean() && System.nanoTime() - start < OTHER_CALLS.toNanos()) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }
}
