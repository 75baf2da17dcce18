// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.torchfeed;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test that leaves native objects behind; registered for all. Each test runs in a {@link
 * PointerScope}, so what it makes with the presets needs no closing, while what torchfeed makes is
 * outside of scopes and does.
 */
public final class LeakCheck implements BeforeEachCallback, AfterEachCallback {
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(LeakCheck.class);

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
    assertThat(torchfeed.live_objects()).as("facade objects left").isEqualTo(before.objects());
    assertThat(Pointer.totalCount()).as("pointers left").isLessThanOrEqualTo(before.pointers());
  }
}
