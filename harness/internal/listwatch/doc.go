// Package listwatch lists objects and then watches them, and says when it may have lost any.
//
// [Run] resumes a watch that closed from the version it had reached, which loses nothing, and starts again from a list where the API server no
// longer knows that version, which may lose something and is therefore told to the caller. client-go has two such loops; its informers skip
// intermediate states silently, and its RetryWatcher retries forever if the version is gone.
//
// Left out on purpose: a cache. Callers keep what they need.
package listwatch
