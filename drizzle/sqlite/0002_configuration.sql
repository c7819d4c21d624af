CREATE TABLE `config_records` (
	`resource` text NOT NULL,
	`id` text NOT NULL,
	`slug` text,
	`data` text NOT NULL,
	`origin` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`resource`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `config_records_by_slug` ON `config_records` (`resource`,`slug`);--> statement-breakpoint
CREATE TABLE `revisions` (
	`number` integer PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`actor` text NOT NULL,
	`resource` text NOT NULL,
	`action` text NOT NULL,
	`config` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `runtime_state` (
	`id` text PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`message` text NOT NULL,
	`error` text,
	`at` integer NOT NULL
);
