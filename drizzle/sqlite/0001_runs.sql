CREATE TABLE `runs` (
	`id` text NOT NULL,
	`thread_id` text NOT NULL,
	`user_id` text NOT NULL,
	`status` text NOT NULL,
	`digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`finished_at` integer,
	`error_code` text,
	`generation` integer,
	PRIMARY KEY(`id`, `thread_id`)
);
--> statement-breakpoint
CREATE INDEX `runs_by_thread` ON `runs` (`thread_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `runs_by_end` ON `runs` (`finished_at`);--> statement-breakpoint
ALTER TABLE `threads` ADD `head` text;--> statement-breakpoint
ALTER TABLE `threads` ADD `cut` integer DEFAULT false NOT NULL;